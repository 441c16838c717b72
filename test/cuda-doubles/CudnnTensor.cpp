#include "CudnnGraphRun.h"

#include "HalfNumbers.h"

#include <algorithm>

namespace tpsp::doubles {
namespace {

size_t elementBytes(cudnnDataType_t type) {
  return type == CUDNN_DATA_BOOLEAN                               ? 1
         : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2
                                                                  : 4;
}

template <typename T> T read(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T> void write(std::byte *at, T value) {
  std::memcpy(at, &value, sizeof value);
}

} // namespace

GraphTensor::GraphTensor(const Descriptor &d)
    : number(d.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
      bytesAligned(d.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1)),
      elementType(d.value(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)),
      isGiven(!d.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)),
      byValue(d.value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
  auto extents = d.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto steps = d.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  legal = extents.size() == 4 && steps.size() == 4 &&
          d.find(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  for (size_t i = 0; legal && i < 4; ++i) {
    dims[i] = extents[i];
    strides[i] = described[i] = steps[i];
    legal &= dims[i] > 0 && strides[i] > 0;
  }
  int64_t inner = 1;
  for (size_t i = 4; isVirtual() && i-- > 0; inner *= dims[i])
    strides[i] = inner;
}

void GraphTensor::bind(void *address) {
  memory = static_cast<std::byte *>(address);
  if (!isVirtual())
    return;
  auto elements = size_t(dims[0] * strides[0]);
  own.assign(elements * elementBytes(elementType), std::byte(0xff));
  memory = own.data();
}

int64_t GraphTensor::place(const Index &at) const {
  int64_t result = 0;
  for (size_t i = 0; i < 4; ++i)
    result += (dims[i] == 1 ? 0 : at[i]) * strides[i];
  return result;
}

GraphTensor::Index GraphTensor::describedIndex(int64_t place) const {
  std::array<size_t, 4> outermostFirst = {0, 1, 2, 3};
  std::sort(outermostFirst.begin(), outermostFirst.end(),
            [&](size_t a, size_t b) { return described[a] > described[b]; });
  Index at{};
  for (size_t i : outermostFirst) {
    if (dims[i] == 1)
      continue;
    at[i] = place / described[i];
    place %= described[i];
  }
  return at;
}

double GraphTensor::load(int64_t place) const {
  const std::byte *at = memory + size_t(place) * elementBytes(elementType);
  switch (elementType) {
  case CUDNN_DATA_BOOLEAN:
    return read<uint8_t>(at) != 0;
  case CUDNN_DATA_INT32:
    return read<int32_t>(at);
  case CUDNN_DATA_HALF:
    return F16::load(read<uint16_t>(at));
  case CUDNN_DATA_BFLOAT16:
    return Bf16::load(read<uint16_t>(at));
  default:
    return read<float>(at);
  }
}

void GraphTensor::store(int64_t place, double value) {
  std::byte *at = memory + size_t(place) * elementBytes(elementType);
  switch (elementType) {
  case CUDNN_DATA_BOOLEAN:
    return write<uint8_t>(at, value != 0);
  case CUDNN_DATA_INT32:
    return write(at, int32_t(value));
  case CUDNN_DATA_HALF:
    return write(at, F16::store(float(value)));
  case CUDNN_DATA_BFLOAT16:
    return write(at, Bf16::store(float(value)));
  default:
    return write(at, float(value));
  }
}

} // namespace tpsp::doubles
