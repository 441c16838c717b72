#include "CudnnDescriptor.h"

namespace tpsp::doubles {

size_t widthOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_CHAR:
  case CUDNN_TYPE_BOOLEAN:
    return 1;
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default: // enumerations, 32-bit numbers
    return 4;
  }
}

cudnnStatus_t Descriptor::set(cudnnBackendAttributeName_t name,
                              cudnnBackendAttributeType_t type, int64_t count,
                              const void *elements) {
  if (isFinal || count < 0 || (count > 0 && !elements))
    return CUDNN_STATUS_BAD_PARAM;
  Attribute attribute{type, count, {}, {}};
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto *bytes = static_cast<const std::byte *>(elements);
    attribute.bytes.assign(bytes, bytes + size_t(count) * widthOf(type));
  }
  for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; ++i) {
    auto *handle = static_cast<DescriptorRef *const *>(elements)[i];
    if (!handle || !(*handle)->isFinal)
      return CUDNN_STATUS_BAD_PARAM;
    attribute.descriptors.push_back(*handle);
  }
  attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

} // namespace tpsp::doubles
