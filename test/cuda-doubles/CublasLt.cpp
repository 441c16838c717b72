// cuBLASLt's matmul, column-major as documented, by plain loops.
#include "Doubles.h"
#include "HalfNumbers.h"

#include <cublasLt.h>

#include <cstdint>
#include <cstring>

namespace {

using namespace tpsp::doubles;

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
};

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

/// What the heuristic hands out, and the matmul holds the caller to.
struct Algorithm {
  uint64_t magic, workspace;
  uint32_t alignment[4];
};
constexpr uint64_t algorithmMagic = 0x7461676f72697468;

// The opaque structures are large enough for ours.
static_assert(sizeof(Operation) <= sizeof(cublasLtMatmulDescOpaque_t), "");
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "");
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t),
              "");
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t), "");

template <typename Ours, typename Theirs> Ours &as(Theirs handle) {
  return *reinterpret_cast<Ours *>(handle);
}

size_t widthOf(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

double load(const void *memory, cudaDataType_t type, int64_t i) {
  if (type == CUDA_R_64F)
    return static_cast<const double *>(memory)[i];
  if (type == CUDA_R_32F)
    return static_cast<const float *>(memory)[i];
  uint16_t bits = static_cast<const uint16_t *>(memory)[i];
  return type == CUDA_R_16F ? F16::load(bits) : Bf16::load(bits);
}

void store(double value, void *memory, cudaDataType_t type, int64_t i) {
  if (type == CUDA_R_64F) {
    static_cast<double *>(memory)[i] = value;
    return;
  }
  float narrow = float(value);
  if (type == CUDA_R_32F) {
    static_cast<float *>(memory)[i] = narrow;
    return;
  }
  static_cast<uint16_t *>(memory)[i] =
      type == CUDA_R_16F ? F16::store(narrow) : Bf16::store(narrow);
}

struct Product {
  Operation operation;
  Layout a, b, c;
  const void *A, *B;
  void *C;
  double alpha, beta;

  /// Sums in f32, or f64 for f64: `Sum`.
  template <typename Sum> void run() const {
    for (int32_t i = 0; i < c.batch; ++i)
      for (uint64_t column = 0; column < c.columns; ++column)
        for (uint64_t row = 0; row < c.rows; ++row) {
          Sum sum = 0;
          for (uint64_t k = 0; k < depth(); ++k)
            sum += Sum(at(a, A, i, operation.transA, row, k)) *
                   Sum(at(b, B, i, operation.transB, k, column));
          int64_t place = i * c.stride + int64_t(column) * c.ld + int64_t(row);
          Sum old = beta == 0 ? Sum(0) : Sum(load(C, c.type, place));
          store(double(Sum(alpha) * sum + Sum(beta) * old), C, c.type, place);
        }
  }
  uint64_t depth() const {
    return operation.transA == CUBLAS_OP_N ? a.columns : a.rows;
  }
  static double at(const Layout &m, const void *memory, int32_t batch,
                   int32_t transpose, uint64_t row, uint64_t column) {
    if (transpose != CUBLAS_OP_N)
      std::swap(row, column);
    return load(memory, m.type,
                batch * m.stride + int64_t(column) * m.ld + int64_t(row));
  }
};

bool fits(const Operation &op, const Layout &a, const Layout &b,
          const Layout &c) {
  bool ta = op.transA != CUBLAS_OP_N, tb = op.transB != CUBLAS_OP_N;
  auto rows = [](const Layout &m, bool t) { return t ? m.columns : m.rows; };
  bool wide = a.type == CUDA_R_64F;
  return rows(a, ta) == c.rows && rows(b, !tb) == c.columns &&
         rows(a, !ta) == rows(b, tb) && a.type == b.type &&
         a.batch == c.batch && b.batch == c.batch &&
         op.scale == (wide ? CUDA_R_64F : CUDA_R_32F) &&
         op.compute == (wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F) &&
         (c.type == a.type || (widthOf(a.type) == 2 && c.type == CUDA_R_32F));
}

template <typename Ours, typename Opaque> cublasStatus_t destroy(Opaque *it) {
  delete it;
  tpspDoubleCountObjects(-1);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Ours, typename Opaque>
void create(Opaque **out, const Ours &value) {
  *out = new Opaque();
  std::memcpy(*out, &value, sizeof value);
  tpspDoubleCountObjects(1);
}

bool isAligned(const void *address, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

} // namespace

TPSP_DOUBLE const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED
             ? "CUBLAS_STATUS_EXECUTION_FAILED"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS";
}

TPSP_DOUBLE cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  *out = reinterpret_cast<cublasLtHandle_t>(new int);
  tpspDoubleCountObjects(1);
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int *>(handle);
  tpspDoubleCountObjects(-1);
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                                    cublasComputeType_t compute,
                                                    cudaDataType_t scale) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  create(out, Operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  return destroy<Operation>(descriptor);
}

TPSP_DOUBLE cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t which,
    const void *value, size_t bytes) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  auto &operation = as<Operation>(descriptor);
  if (bytes != 4)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (which == CUBLASLT_MATMUL_DESC_TRANSA)
    std::memcpy(&operation.transA, value, 4);
  else if (which == CUBLASLT_MATMUL_DESC_TRANSB)
    std::memcpy(&operation.transB, value, 4);
  else
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType_t type,
                           uint64_t rows, uint64_t columns, int64_t ld) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (ld < int64_t(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  create(out, Layout{type, rows, columns, ld});
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<Layout>(layout);
}

TPSP_DOUBLE cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
    const void *value, size_t bytes) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4)
    std::memcpy(&as<Layout>(layout).batch, value, 4);
  else if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == 8)
    std::memcpy(&as<Layout>(layout).stride, value, 8);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  create(out, Preference());
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                     cublasLtMatmulPreferenceAttributes_t which,
                                     const void *value, size_t bytes) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  auto &preference = as<Preference>(handle);
  int alignment = int(which) - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
    std::memcpy(&preference.workspace, value, 8);
  else if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == 4)
    std::memcpy(&preference.reduction, value, 4);
  else if (alignment >= 0 && alignment < 4 && bytes == 4)
    std::memcpy(&preference.alignment[alignment], value, 4);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t handle, int requested,
    cublasLtMatmulHeuristicResult_t results[], int *found) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  auto &preference = as<Preference>(handle);
  *found = 0;
  if (c != d || requested < 1 ||
      !fits(as<Operation>(operation), as<Layout>(a), as<Layout>(b),
            as<Layout>(c)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  // Parts of a sum in the type of the result: never wanted.
  if (preference.reduction & (CUBLASLT_REDUCTION_SCHEME_INPLACE |
                              CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{algorithmMagic, preference.workspace, {}};
  std::memcpy(algorithm.alignment, preference.alignment,
              sizeof algorithm.alignment);
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].workspaceSize = preference.workspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

TPSP_DOUBLE cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *A, cublasLtMatrixLayout_t a,
               const void *B, cublasLtMatrixLayout_t b, const void *beta,
               const void *C, cublasLtMatrixLayout_t c, void *D,
               cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  const void *operands[] = {A, B, C, D};
  for (int i = 0; i < 4; ++i)
    if (!isAligned(operands[i], algorithm.alignment[i]))
      return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.magic != algorithmMagic || C != D || c != d || !workspace ||
      !isAligned(workspace, 256) || workspaceBytes < algorithm.workspace)
    return CUBLAS_STATUS_INVALID_VALUE;
  Product product{as<Operation>(operation),
                  as<Layout>(a),
                  as<Layout>(b),
                  as<Layout>(c),
                  A,
                  B,
                  D,
                  0,
                  0};
  bool isWide = product.operation.scale == CUDA_R_64F;
  product.alpha = load(alpha, product.operation.scale, 0);
  product.beta = load(beta, product.operation.scale, 0);
  cudaError_t result = doubleEnqueue(stream, [product, isWide] {
    isWide ? product.run<double>() : product.run<float>();
  });
  return result == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                               : CUBLAS_STATUS_EXECUTION_FAILED;
}
