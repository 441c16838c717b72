/// The floating-point types of 16 bits. f16 is converted as by CUDA's own
/// header.
#ifndef TPSP_TEST_CUDADOUBLES_HALFNUMBERS_H
#define TPSP_TEST_CUDADOUBLES_HALFNUMBERS_H

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace tpsp::doubles {

struct Bf16 {
  static float load(uint16_t bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  static uint16_t store(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
};

struct F16 {
  static float load(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
  }
  static uint16_t store(float value) {
    return __half_raw(__float2half_rn(value)).x;
  }
};

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_HALFNUMBERS_H
