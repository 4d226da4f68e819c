/* A kernel for the task of zoo:shufflenet that is a BatchNormalization of 272 maps of 14 x 14:

       benanza run zoo:shufflenet
       benanza tasks zoo:shufflenet --limit 20 --out tasks
       benanza solve tasks/*-batchnormalization_57b3adf2978f examples/kernels/normalise.c --by me

   `run` and `prepare` are declared in the task's task.json. */
#include <math.h>

#define MAPS 272
#define PLACES (14 * 14)
#define EPSILON 1e-5f

static float factor[MAPS], offset[MAPS];

/* Is told of the weights before they are used, and again when they are others. Its time doesn't
   count. */
void prepare(const float *scale, const float *bias, const float *mean, const float *variance) {
    for (int map = 0; map < MAPS; map++) {
        factor[map] = scale[map] / sqrtf(variance[map] + EPSILON);
        offset[map] = bias[map] - mean[map] * factor[map];
    }
}

/* Is timed: reads all inputs in the order of the task, weights among them, and writes the result. */
void run(const float *restrict x, const float *scale, const float *bias, const float *mean,
         const float *variance, float *restrict y) {
    for (int map = 0; map < MAPS; map++, x += PLACES, y += PLACES)
        for (int place = 0; place < PLACES; place++)
            y[place] = x[place] * factor[map] + offset[map];
}
