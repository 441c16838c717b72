// The suite's kernels for GPUs. A block does `itemsOfBlock` work items, and its
// threads take turns (tpsp_rt_device_kernel).

constexpr long long itemsOfBlock = 8;

__device__ inline long long firstItem(long long begin) {
  return begin + blockIdx.x * itemsOfBlock + threadIdx.x;
}
__device__ inline long long endItem(long long begin, long long end) {
  long long behind = begin + (blockIdx.x + 1) * itemsOfBlock;
  return behind < end ? behind : end;
}
#define EACH_ITEM(I)                                                           \
  for (long long I = firstItem(begin); I < endItem(begin, end);                \
       I += blockDim.x)

#ifdef __CUDACC__
__device__ inline void rest(int milliseconds) {
  for (int i = 0; i < 2 * milliseconds; ++i)
    __nanosleep(500000);
}
#endif

extern "C" __global__ void test_affine(const double *x, double *y,
                                       long long first, long long second,
                                       long long begin, long long end) {
  EACH_ITEM(i)
  y[i] = 2 * x[i] + first + second / 1000.0;
}

// A block's shared memory: a part that the launch requests and a static part.
#ifdef __CUDACC__
extern __shared__ volatile double rowsOfLaunch[];
#define BLOCK_MEMORY __shared__ volatile
#else
static thread_local double rowsOfLaunch[32];
#define BLOCK_MEMORY static thread_local
#endif

extern "C" __global__ void test_double_in_rows(const double *x, double *y,
                                               long long begin,
                                               long long end) {
  BLOCK_MEMORY double partials[256];
  EACH_ITEM(i) {
    partials[threadIdx.x] = x[i];
    rowsOfLaunch[threadIdx.x] = 2 * partials[threadIdx.x];
    y[i] = rowsOfLaunch[threadIdx.x];
  }
}

extern "C" __global__ void test_count(long long *counts, long long begin,
                                      long long end) {
  EACH_ITEM(i)
  ++counts[i];
}

extern "C" __global__ void test_mix(const unsigned long long *first,
                                    const unsigned long long *second,
                                    unsigned long long *third, long long begin,
                                    long long end) {
  EACH_ITEM(i)
  third[i] = 3 * third[i] + first[i] - 5 * second[i];
}

extern "C" __global__ void test_increment(long long *values, long long begin,
                                          long long end) {
  EACH_ITEM(i)
  for (long long at = i * 1000; at < (i + 1) * 1000; ++at)
    ++values[at];
}

extern "C" __global__ void test_add_one(const long long *from, long long *to,
                                        long long begin, long long end) {
  EACH_ITEM(i)
  *to = *from + 1;
}

extern "C" __global__ void test_chain(unsigned long long *value,
                                      long long begin, long long end) {
  EACH_ITEM(i)
  *value = 3 * *value + 1;
}

extern "C" __global__ void test_write_late(long long *value, long long begin,
                                           long long end) {
  EACH_ITEM(i) {
    rest(20);
    *value = 7;
  }
}

extern "C" __global__ void test_sleep_long(long long begin, long long end) {
  EACH_ITEM(i)
  rest(100);
}

// These two communicate with the test's process, which is possible on doubles
// only.
#ifdef __CUDACC__
extern "C" __global__ void test_signal(long long begin, long long end) {}
extern "C" __global__ void test_wait(long long begin, long long end) {}
#endif
