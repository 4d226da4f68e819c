"""Memory of a GPU that processes share by a file descriptor, as they share a memfd.

CUDA's virtual memory management exports an allocation as a file: it lives as long as any process
has the file open or the memory mapped, so that it outlives whoever made it. `cudaIpcGetMemHandle`
would not: such memory goes with the process that has allocated it. It needs the extra `cuda`.

https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VA.html
"""

from functools import cache
from typing import Any

from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError


class GpuMemoryError(BenanzaError):
    """The driver doesn't do what was asked."""


class GpuMapping(Closing):
    """An allocation on a GPU, mapped into this process at `address`."""

    def __init__(self, handle: Any, size: int, ordinal: int, *, writable: bool) -> None:
        driver = _driver()
        self._size = padded(size, ordinal)
        self.address = int(_done(driver.cuMemAddressReserve(self._size, 0, 0, 0)))
        self._mapped = False
        try:
            _done(driver.cuMemMap(self.address, self._size, 0, handle, 0))
            self._mapped = True
            access = driver.CUmemAccessDesc()
            access.location = _place(ordinal)
            flags = driver.CUmemAccess_flags
            access.flags = (
                flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                if writable
                else flags.CU_MEM_ACCESS_FLAGS_PROT_READ
            )
            _done(driver.cuMemSetAccess(self.address, self._size, [access], 1))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Takes the mapping away. What still uses the address fails."""
        driver = _driver()
        if self._mapped:
            _done(driver.cuMemUnmap(self.address, self._size))
            self._mapped = False
        if self.address:
            _done(driver.cuMemAddressFree(self.address, self._size))
            self.address = 0


def exported(host_address: int, size: int, uuid: str) -> int:
    """A file descriptor of memory on the GPU of this UUID, with a copy of these bytes. Closing it
    gives the memory back, once nobody has it mapped. Raises `GpuMemoryError`.
    """
    driver = _driver()
    ordinal = _ordinal(uuid)
    use(ordinal)
    properties = _properties(ordinal)
    handle = _done(driver.cuMemCreate(padded(size, ordinal), properties, 0))
    try:
        with GpuMapping(handle, size, ordinal, writable=True) as mapping:
            _done(driver.cuMemcpyHtoD(mapping.address, host_address, size))
            _done(driver.cuCtxSynchronize())  # the copy may end after its call
        return int(
            _done(driver.cuMemExportToShareableHandle(handle, properties.requestedHandleTypes, 0))
        )
    finally:
        _done(driver.cuMemRelease(handle))


def imported(file: int, size: int, ordinal: int) -> GpuMapping:
    """What another process has exported on this GPU, mapped for reading. The file may be closed
    afterwards. Raises `GpuMemoryError`.
    """
    driver = _driver()
    use(ordinal)
    kind = _properties(ordinal).requestedHandleTypes
    handle = _done(driver.cuMemImportFromShareableHandle(file, kind))
    try:
        return GpuMapping(handle, size, ordinal, writable=False)
    finally:
        _done(driver.cuMemRelease(handle))


def use(ordinal: int) -> None:
    """Has this thread use the GPU, by the context that CUDA's runtime uses too."""
    driver = _driver()
    device = _done(driver.cuDeviceGet(ordinal))
    _done(driver.cuCtxSetCurrent(_done(driver.cuDevicePrimaryCtxRetain(device))))


def uuid_of(ordinal: int) -> str:
    """The UUID of a GPU in hexadecimal: processes number GPUs differently."""
    driver = _driver()
    device = _done(driver.cuDeviceGet(ordinal))
    return bytes(_done(driver.cuDeviceGetUuid(device)).bytes).hex()


def padded(size: int, ordinal: int) -> int:
    """The bytes that an allocation of so many takes on this GPU."""
    driver = _driver()
    least = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    step = int(_done(driver.cuMemGetAllocationGranularity(_properties(ordinal), least)))
    return -(-size // step) * step


def _ordinal(uuid: str) -> int:
    driver = _driver()
    for ordinal in range(int(_done(driver.cuDeviceGetCount()))):
        if uuid_of(ordinal) == uuid:
            return ordinal
    raise GpuMemoryError(f"the store sees no GPU {uuid}; start it with all GPUs visible")


def _properties(ordinal: int) -> Any:
    driver = _driver()
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location = _place(ordinal)
    kinds = driver.CUmemAllocationHandleType
    properties.requestedHandleTypes = kinds.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    return properties


def _place(ordinal: int) -> Any:
    driver = _driver()
    place = driver.CUmemLocation()
    place.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    place.id = ordinal
    return place


@cache
def _driver() -> Any:
    try:
        from cuda.bindings import driver  # It needs an extra.
    except ImportError as error:
        raise GpuMemoryError(
            f"memory of GPUs can't be shared: {error}; say: pip install 'benanza[cuda]'"
        ) from error
    try:
        _done(driver.cuInit(0))
    except RuntimeError as error:  # the bindings find no library of the driver
        raise GpuMemoryError("NVIDIA's driver isn't installed here; install it") from error
    return driver


def _done(answer: tuple[Any, ...]) -> Any:
    """What a call of the driver returns besides its status. Raises `GpuMemoryError`."""
    status, *values = answer
    if int(status):
        raise GpuMemoryError(
            f"CUDA's driver answers {status.name}; `nvidia-smi` says what is there"
        )
    return values[0] if values else None
