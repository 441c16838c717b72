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
/// A reference keeps the descriptor alive, even if its handle is destroyed.
using DescriptorRef = std::shared_ptr<Descriptor>;

struct Attribute {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<std::byte> bytes;
  /// For CUDNN_TYPE_BACKEND_DESCRIPTOR, instead of bytes.
  std::vector<DescriptorRef> descriptors;
};

struct Descriptor {
  explicit Descriptor(cudnnBackendDescriptorType_t type) : type(type) {}

  const Attribute *find(cudnnBackendAttributeName_t name) const {
    auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }

  /// Returns an attribute's values; empty if it was not set.
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
  /// Returns an attribute that is a descriptor; null if it was not set.
  DescriptorRef descriptor(cudnnBackendAttributeName_t name) const {
    const Attribute *attribute = find(name);
    bool has = attribute && !attribute->descriptors.empty();
    return has ? attribute->descriptors[0] : nullptr;
  }

  /// Sets an attribute. Returns BAD_PARAM for values that are descriptors not
  /// yet finalized, or if this descriptor is finalized already.
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
