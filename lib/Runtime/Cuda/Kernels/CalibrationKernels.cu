// Kernels with which `tpsp-run --calibrate --backend cuda` measures a GPU. Each
// does one thing and is called as a plan's kernels are (tpsp_rt_device_kernel).
// A block runs `itemsOfBlock` work items, except in tpsp_probe_nothing.
//
// There is no shared memory and there are no barriers, since the tests run this
// file on a CPU.

constexpr long long itemsOfBlock = 1024;

#define EACH_ITEM(I)                                                           \
  for (long long I = begin + blockIdx.x * itemsOfBlock + threadIdx.x,          \
                 behind = begin + (blockIdx.x + 1) * itemsOfBlock;             \
       I < end && I < behind; I += blockDim.x)

/// Blocks without any work.
extern "C" __global__ void tpsp_probe_nothing(const float *, float *, long long,
                                              long long) {}

struct alignas(16) FourElements {
  float at[4];
};

/// Reads elements and writes as many, four adjacent ones at a time, as
/// generated kernels do. The range begins and ends at multiples of four.
extern "C" __global__ void tpsp_probe_stream(const float *x, float *y,
                                             long long begin, long long end) {
  const FourElements *from = (const FourElements *)x;
  FourElements *to = (FourElements *)y;
  long long first = begin + blockIdx.x * itemsOfBlock;
  long long behind = first + itemsOfBlock < end ? first + itemsOfBlock : end;
  for (long long i = first / 4 + threadIdx.x; i < behind / 4; i += blockDim.x) {
    FourElements four = from[i];
    for (float &element : four.at)
      element *= 2;
    to[i] = four;
  }
}

/// 1024 products and 1024 sums for each element.
extern "C" __global__ void tpsp_probe_operations(const float *x, float *y,
                                                 long long begin,
                                                 long long end) {
  EACH_ITEM(i) {
    float a = x[i], b = a + 1, c = a + 2, d = a + 3;
    for (int j = 0; j < 256; ++j) {
      a = a * 0.5f + 1;
      b = b * 0.5f + 1;
      c = c * 0.5f + 1;
      d = d * 0.5f + 1;
    }
    y[i] = a + b + c + d;
  }
}

/// 64 exponentials for each element.
extern "C" __global__ void tpsp_probe_transcendentals(const float *x, float *y,
                                                      long long begin,
                                                      long long end) {
  EACH_ITEM(i) {
    float a = x[i], b = a + 1;
    for (int j = 0; j < 32; ++j) {
      a = expf(-a);
      b = expf(-b);
    }
    y[i] = a + b;
  }
}

/// 64 loads for each element, from the same 16 KiB for all elements.
extern "C" __global__ void tpsp_probe_cache(const float *x, float *y,
                                            long long begin, long long end) {
  EACH_ITEM(i) {
    float sum = 0;
    for (int j = 0; j < 64; ++j)
      sum += x[(i + j * 32) & 4095];
    y[i] = sum;
  }
}

/// 16 loads for each element, from random positions.
extern "C" __global__ void
tpsp_probe_scattered(const float *x, float *y, long long begin, long long end) {
  unsigned long long all = (unsigned long long)(end - begin);
  EACH_ITEM(i) {
    float sum = 0;
    unsigned hash = (unsigned)i;
    for (int j = 0; j < 16; ++j) {
      hash = hash * 2654435761u + 40503u;
      sum += x[(hash * all) >> 32];
    }
    y[i] = sum;
  }
}
