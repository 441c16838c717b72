//===- GemmTest.cpp - the matrix product of each instruction set ----------===//

#include "Gemm.h"

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

/// Checks a kernel on padded matrices in each layout against three loops.
void checkKernel(GemmKernel kernel, int64_t rows, int64_t columns,
                 int64_t depth) {
  constexpr int64_t kPadding = 3;
  const int64_t longest = std::max({rows, columns, depth}) + kPadding;
  const Extents square{{"i", longest}, {"j", longest}};
  const Tensor a = randomTensor({"i", "j"}, square, 1);
  const Tensor b = randomTensor({"i", "j"}, square, 2);
  const auto at = [&](const Tensor &x, bool rowMajor, int64_t i, int64_t j) {
    return x.data[rowMajor ? i * longest + j : j * longest + i];
  };
  for (const bool aRowMajor : {false, true})
    for (const bool bRowMajor : {false, true}) {
      std::vector<double> c(longest * longest, 7.0);
      kernel({rows,
              columns,
              depth,
              a.data.data(),
              {longest, aRowMajor},
              b.data.data(),
              {longest, bRowMajor},
              c.data(),
              longest});
      for (int64_t i = 0; i < longest; ++i)
        for (int64_t j = 0; j < longest; ++j) {
          const bool isPadding = i >= rows || j >= columns;
          double want = isPadding ? 7.0 : 0.0;
          for (int64_t k = 0; k < depth && !isPadding; ++k)
            want += at(a, aRowMajor, i, k) * at(b, bRowMajor, k, j);
          ASSERT_NEAR(c[j * longest + i], want, 1e-11)
              << i << ", " << j << " of " << rows << "x" << columns;
        }
    }
}

void checkKernel(GemmKernel kernel) {
  for (const int64_t rows : {1, 2, 17, 53})
    for (const int64_t columns : {1, 3, 16, 31})
      for (const int64_t depth : {0, 1, 8, 61})
        checkKernel(kernel, rows, columns, depth);
}

TEST(GemmTest, Generic) { checkKernel(gemmGeneric); }

TEST(GemmTest, Selected) { checkKernel(selectGemmKernel()); }

#if defined(__x86_64__)
TEST(GemmTest, Avx2) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this processor lacks AVX2";
  checkKernel(gemmAvx2);
}

TEST(GemmTest, Avx512) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq"))
    GTEST_SKIP() << "this processor lacks AVX-512";
  checkKernel(gemmAvx512);
}
#endif

} // namespace
