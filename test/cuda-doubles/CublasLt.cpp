// cuBLASLt's matmul, column-major as documented, by plain loops.
#include "Doubles.h"
#include "HalfNumbers.h"

#include <cublasLt.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using namespace tpsp::doubles;

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t auxLd = 0, auxStride = 0;

  /// Whether GELU's argument is written or read.
  bool hasAux() const { return epilogue & 128; }
  bool hasGelu() const { return epilogue & CUBLASLT_EPILOGUE_GELU; }
  bool hasBias() const { return epilogue & CUBLASLT_EPILOGUE_BIAS; }
  bool isGeluGradient() const { return epilogue == CUBLASLT_EPILOGUE_DGELU; }
  bool sumsA() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }
  bool sumsB() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
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

/// An answer of the heuristic. The matmul checks that the caller keeps to it.
struct Algorithm {
  uint64_t magic, workspace;
  uint32_t alignment[4];
  uint32_t epilogue;
  /// The alignment of the addresses of the bias and of GELU's argument.
  uint32_t biasAlignment, auxAlignment;
};
constexpr uint64_t algorithmMagic = 0x7461676f72697468;

// The opaque structures must be large enough for ours.
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

/// A GPU's instruction for tanh has some 11 bits, and cuBLASLt may use it.
double roughTanh(double x) { return std::round(std::tanh(x) * 2048) / 2048; }

/// GELU's tanh form, which cuBLASLt has.
double gelu(double x) {
  return 0.5 * x *
         (1 + roughTanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double geluGradient(double x) {
  double t = roughTanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 *
                             (1 + 3 * 0.044715 * x * x);
}

struct Product {
  Operation operation;
  Layout a, b, c;
  const void *A, *B;
  void *C;
  double alpha, beta;

  /// Sums are made in `Sum`: f64 for f64, else f32.
  template <typename Sum> void run() const {
    for (int32_t i = 0; i < c.batch; ++i) {
      const std::vector<Sum> rows = linesOf<Sum>(i, /*isOfA=*/true),
                             columns = linesOf<Sum>(i, /*isOfA=*/false);
      for (uint64_t column = 0; column < c.columns; ++column)
        for (uint64_t row = 0; row < c.rows; ++row) {
          Sum sum = 0;
          for (uint64_t k = 0; k < depth(); ++k)
            sum += rows[row * depth() + k] * columns[column * depth() + k];
          int64_t place = i * c.stride + int64_t(column) * c.ld + int64_t(row);
          Sum old = beta == 0 ? Sum(0) : Sum(load(C, c.type, place));
          double result = double(Sum(alpha) * sum + Sum(beta) * old);
          store(finished(result, i, row, column), C, c.type, place);
        }
    }
    if (operation.sumsA())
      sumOperand<Sum>(a, A, operation.transA, /*keepsRows=*/true);
    if (operation.sumsB())
      sumOperand<Sum>(b, B, operation.transB, /*keepsRows=*/false);
  }

  /// The bias runs along D's rows; it and GELU's argument have D's type.
  double finished(double x, int32_t batch, uint64_t row,
                  uint64_t column) const {
    int64_t place = batch * operation.auxStride +
                    int64_t(column) * operation.auxLd + int64_t(row);
    if (operation.isGeluGradient())
      return x * geluGradient(load(operation.aux, c.type, place));
    if (operation.hasBias())
      x += load(operation.bias, c.type, int64_t(row));
    if (operation.hasGelu() && operation.hasAux())
      store(x, operation.aux, c.type, place);
    return operation.hasGelu() ? gelu(x) : x;
  }

  /// Sums over k: of op(A) for each row of D, or of op(B) for each column.
  template <typename Sum>
  void sumOperand(const Layout &m, const void *memory, int32_t transpose,
                  bool keepsRows) const {
    uint64_t kept = keepsRows ? c.rows : c.columns;
    for (uint64_t i = 0; i < kept; ++i) {
      Sum sum = 0;
      for (uint64_t k = 0; k < depth(); ++k)
        sum += Sum(keepsRows ? at(m, memory, 0, transpose, i, k)
                             : at(m, memory, 0, transpose, k, i));
      store(double(sum), operation.bias, c.type, int64_t(i));
    }
  }
  /// op(A)'s rows, or op(B)'s columns, of one matrix of the batch.
  template <typename Sum>
  std::vector<Sum> linesOf(int32_t batch, bool isOfA) const {
    std::vector<Sum> lines;
    lines.reserve((isOfA ? c.rows : c.columns) * depth());
    for (uint64_t i = 0; i < (isOfA ? c.rows : c.columns); ++i)
      for (uint64_t k = 0; k < depth(); ++k)
        lines.push_back(Sum(isOfA ? at(a, A, batch, operation.transA, i, k)
                                  : at(b, B, batch, operation.transB, k, i)));
    return lines;
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

uint32_t alignmentOf(const void *address) {
  auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return uint32_t(bits & (~bits + 1));
}

/// Whether the epilogue fits the rules of cublasLt.h. GELU's argument is a
/// matrix whose rows (D's), leading dimension and batch stride are all
/// divisible by 8. f64 has no epilogues. The double also has none for products
/// with a single row, which it calls invalid, so that tests see what a caller
/// then does.
bool epilogueFits(const Operation &op, const Layout &c) {
  if (op.epilogue == CUBLASLT_EPILOGUE_DEFAULT)
    return true;
  bool wantsVector = op.hasBias() || op.sumsA() || op.sumsB();
  if (op.scale == CUDA_R_64F || c.rows == 1 || (wantsVector && !op.bias))
    return false;
  if ((op.sumsA() || op.sumsB()) && c.batch != 1)
    return false;
  return !op.hasAux() || (op.aux && c.rows % 8 == 0 && op.auxLd % 8 == 0 &&
                          op.auxLd >= int64_t(c.rows) && op.auxStride % 8 == 0);
}

bool isKnownEpilogue(uint32_t epilogue) {
  for (auto known : {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS,
                     CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS,
                     CUBLASLT_EPILOGUE_GELU_AUX,
                     CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
                     CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB})
    if (epilogue == uint32_t(known))
      return true;
  return false;
}

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
  auto set = [&](auto &field) {
    if (bytes != sizeof field)
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (which) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(operation.transA);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(operation.transB);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(operation.epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(operation.bias);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return set(operation.aux);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return set(operation.auxLd);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
    return set(operation.auxStride);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
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
  auto &op = as<Operation>(operation);
  if (!isKnownEpilogue(op.epilogue))
    return CUBLAS_STATUS_INVALID_VALUE;
  // Finding no algorithm is no error, but the real library calls some
  // combinations invalid.
  if (!epilogueFits(op, as<Layout>(c)))
    return as<Layout>(c).rows == 1 ? CUBLAS_STATUS_INVALID_VALUE
                                   : CUBLAS_STATUS_SUCCESS;
  // The backend never wants partial sums in the type of the result.
  if (preference.reduction & (CUBLASLT_REDUCTION_SCHEME_INPLACE |
                              CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{
      algorithmMagic, preference.workspace, {},
      op.epilogue,    alignmentOf(op.bias), alignmentOf(op.aux)};
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
  if (cudaPeekAtLastError() != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  const void *operands[] = {A, B, C, D};
  for (int i = 0; i < 4; ++i)
    if (!isAligned(operands[i], algorithm.alignment[i]))
      return CUBLAS_STATUS_INVALID_VALUE;
  auto &op = as<Operation>(operation);
  if (op.epilogue != algorithm.epilogue || !epilogueFits(op, as<Layout>(c)) ||
      !isAligned(op.bias, algorithm.biasAlignment) ||
      !isAligned(op.aux, algorithm.auxAlignment))
    return CUBLAS_STATUS_INVALID_VALUE;
  // A grid has no more blocks along the batch.
  if (as<Layout>(c).batch > 65535)
    return CUBLAS_STATUS_EXECUTION_FAILED;
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
