// Replaces CudnnAttention.cpp in builds without cuDNN's headers.
#include "CudaAttention.h"

namespace tpsp::rt {

Status findAttentionLibrary() {
  return {TPSP_RT_UNSUPPORTED,
          "libtpsp_cuda.so was built without cuDNN; make the plan with "
          "--attention rows"};
}

Status prepareCudaAttention(const AttentionCommand &, bool, int64_t,
                            const std::vector<std::byte *> &,
                            std::shared_ptr<CudaAttentionContext> &,
                            std::unique_ptr<CudaAttention> &) {
  return findAttentionLibrary();
}

} // namespace tpsp::rt
