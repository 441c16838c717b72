/// cuDNN's descriptors in the double: attributes by name, as they were set.
#ifndef TPSP_TEST_CUDADOUBLES_CUDNNDESCRIPTOR_H
#define TPSP_TEST_CUDADOUBLES_CUDNNDESCRIPTOR_H

#include <cudnn_graph.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::doubles {

struct Descriptor;
/// What refers to a descriptor keeps it, whatever becomes of its handle.
using DescriptorRef = std::shared_ptr<Descriptor>;

struct Attribute {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<std::byte> bytes;
  /// In place of bytes for CUDNN_TYPE_BACKEND_DESCRIPTOR.
  std::vector<DescriptorRef> descriptors;
};

struct Descriptor {
  explicit Descriptor(cudnnBackendDescriptorType_t type) : type(type) {}

  const Attribute *find(cudnnBackendAttributeName_t name) const {
    auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }

  /// Empty if it was not set.
  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const Attribute *attribute = find(name);
    std::vector<T> values(attribute ? attribute->bytes.size() / sizeof(T) : 0);
    if (!values.empty())
      std::memcpy(values.data(), attribute->bytes.data(),
                  values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T value(cudnnBackendAttributeName_t name, T otherwise = T()) const {
    const Attribute *attribute = find(name);
    if (attribute && attribute->bytes.size() >= sizeof(T))
      std::memcpy(&otherwise, attribute->bytes.data(), sizeof(T));
    return otherwise;
  }
  /// Null if it was not set.
  DescriptorRef descriptor(cudnnBackendAttributeName_t name) const {
    const Attribute *attribute = find(name);
    bool has = attribute && !attribute->descriptors.empty();
    return has ? attribute->descriptors[0] : nullptr;
  }

  /// BAD_PARAM for descriptors that are not final, and once this one is.
  cudnnStatus_t set(cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, int64_t count,
                    const void *elements);

  cudnnBackendDescriptorType_t type;
  bool isFinal = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;
};

/// Bytes of an element.
size_t widthOf(cudnnBackendAttributeType_t type);

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_CUDNNDESCRIPTOR_H
