/* Preloaded into a process, this makes its clock run ahead by the nanoseconds in the file that
 * CHAOS_CLOCK names, eight bytes that may change at any time. Monotonic clocks are as they are, and
 * a wait until a time of the clock is as long as with the machine's own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*machines_clock)(clockid_t, struct timespec *);
static const volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("CHAOS_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED)
            ahead = mapped;
        close(file);
    }
    machines_clock = dlsym(RTLD_NEXT, "clock_gettime");
}

static struct timespec later(struct timespec t, int64_t by) {
    int64_t ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec + by;
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (!machines_clock)
        begin();
    int status = machines_clock(clock, t);
    if (!status && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *t = later(*t, *ahead);
    return status;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}

/* A monotonic clock counts from the machine's start: nobody waits on it for thirty years. */
static int is_monotonic(const struct timespec *t) { return t->tv_sec < 1000000000; }

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    if (is_monotonic(until))
        return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, until);
    struct timespec t = later(*until, ahead ? -*ahead : 0);
    return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &t);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    struct timespec t = later(*until, ahead ? -*ahead : 0);
    return sem_clockwait(semaphore, CLOCK_REALTIME, &t);
}
