/// Owners of cuBLASLt's handle and descriptors.
#ifndef TPSP_RUNTIME_CUDA_PRODUCTS_CUBLASDESCRIPTORS_H
#define TPSP_RUNTIME_CUDA_PRODUCTS_CUBLASDESCRIPTORS_H

#include "Runtime/Cuda/Core/CudaCheck.h"

#include <cstdint>

namespace tpsp::rt {

template <typename Handle, cublasStatus_t (*Destroy)(Handle)>
class CublasDescriptor {
public:
  CublasDescriptor() = default;
  CublasDescriptor(const CublasDescriptor &) = delete;
  ~CublasDescriptor() {
    if (handle)
      (void)Destroy(handle);
  }
  Handle get() const { return handle; }

protected:
  Handle handle = nullptr;
};

/// A rank's handle of the library.
class CublasHandle
    : public CublasDescriptor<cublasLtHandle_t, cublasLtDestroy> {
public:
  Status create() {
    TPSP_CUBLAS(cublasLtCreate, &handle);
    return {};
  }
};

/// Describes a product: its types and transpositions.
class MatmulDescriptor
    : public CublasDescriptor<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> {
public:
  Status create(cublasComputeType_t compute, cudaDataType_t scale,
                bool transposeFirst, bool transposeSecond) {
    TPSP_CUBLAS(cublasLtMatmulDescCreate, &handle, compute, scale);
    TPSP_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, operation(transposeFirst)));
    return set(CUBLASLT_MATMUL_DESC_TRANSB, operation(transposeSecond));
  }
  template <typename T>
  Status set(cublasLtMatmulDescAttributes_t which, T value) {
    TPSP_CUBLAS(cublasLtMatmulDescSetAttribute, handle, which, &value,
                sizeof value);
    return {};
  }

private:
  static int32_t operation(bool transpose) {
    return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
};

/// A column-major matrix, or a batch of them that are `stride` elements apart.
class MatrixLayout : public CublasDescriptor<cublasLtMatrixLayout_t,
                                             cublasLtMatrixLayoutDestroy> {
public:
  Status create(cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld,
                int32_t batch, int64_t stride) {
    TPSP_CUBLAS(cublasLtMatrixLayoutCreate, &handle, type, uint64_t(rows),
                uint64_t(columns), ld);
    if (batch == 1)
      return {};
    TPSP_CUBLAS(cublasLtMatrixLayoutSetAttribute, handle,
                CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    TPSP_CUBLAS(cublasLtMatrixLayoutSetAttribute, handle,
                CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                sizeof stride);
    return {};
  }
};

/// The limits within which an algorithm is chosen.
class MatmulPreference
    : public CublasDescriptor<cublasLtMatmulPreference_t,
                              cublasLtMatmulPreferenceDestroy> {
public:
  Status create() {
    TPSP_CUBLAS(cublasLtMatmulPreferenceCreate, &handle);
    return {};
  }
  template <typename T>
  Status set(cublasLtMatmulPreferenceAttributes_t which, T value) {
    TPSP_CUBLAS(cublasLtMatmulPreferenceSetAttribute, handle, which, &value,
                sizeof value);
    return {};
  }
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_PRODUCTS_CUBLASDESCRIPTORS_H
