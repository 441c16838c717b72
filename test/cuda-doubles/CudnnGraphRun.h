/// Computes a graph of cuDNN's operations on the host, one after the other, by
/// plain loops. Results are rounded to their tensor's type. Only operations
/// that attention needs are implemented.
#ifndef TPSP_TEST_CUDADOUBLES_CUDNNGRAPHRUN_H
#define TPSP_TEST_CUDADOUBLES_CUDNNGRAPHRUN_H

#include "CudnnDescriptor.h"

#include <array>

namespace tpsp::doubles {

/// Addresses by unique id. A number passed by value is copied when it is bound.
using Bindings = std::map<int64_t, void *>;

/// A tensor while a graph runs: [batch, head, row, column]. A virtual tensor is
/// dense in that order. The strides that it was described with only say how a
/// reshape reads it.
class GraphTensor {
public:
  using Index = std::array<int64_t, 4>;

  explicit GraphTensor(const Descriptor &descriptor);

  int64_t id() const { return number; }
  bool isVirtual() const { return !isGiven; }
  bool isByValue() const { return byValue; }
  cudnnDataType_t type() const { return elementType; }
  int64_t alignment() const { return bytesAligned; }
  const Index &extents() const { return dims; }
  const Index &describedStrides() const { return described; }
  /// Whether the descriptor describes a tensor of four dimensions with an id.
  bool isLegal() const { return legal; }

  /// Sets the tensor's memory. A virtual tensor gets memory of its own, full of
  /// NaNs.
  void bind(void *address);

  int64_t place(const Index &at) const;
  /// Elements between neighbours along a dimension.
  int64_t pitch(size_t dimension) const { return strides[dimension]; }
  /// Returns the index of the element at this place, by the described strides.
  Index describedIndex(int64_t place) const;
  double load(int64_t place) const;
  void store(int64_t place, double value);

private:
  int64_t number = 0, bytesAligned = 1;
  cudnnDataType_t elementType = CUDNN_DATA_FLOAT;
  Index dims{}, described{}, strides{};
  bool isGiven = true, byValue = false, legal = false;
  std::byte *memory = nullptr;
  std::vector<std::byte> own;
};

class GraphRun {
public:
  /// `operations` are finalized descriptors.
  explicit GraphRun(const std::vector<DescriptorRef> &operations);
  GraphRun(const GraphRun &) = delete;

  /// Why no engine would accept the graph, or an empty string.
  const std::string &refusal() const { return why; }
  /// Returns the tensors that a caller has to bind.
  std::vector<const GraphTensor *> given() const;
  /// Computes the results. An element that no operation computes is a NaN.
  void run(const Bindings &bindings);

private:
  /// An operation. Operands are in the order of its attributes, null if
  /// missing.
  struct Operation {
    cudnnBackendDescriptorType_t type;
    /// A pointwise mode, or a reduction's operator.
    int mode = 0;
    int64_t axis = 0;
    std::vector<GraphTensor *> inputs = {};
    GraphTensor *result = nullptr;
  };

  void add(const Descriptor &operation);
  GraphTensor *tensor(const Descriptor &operation,
                      cudnnBackendAttributeName_t name);
  void order();
  void check();
  static const char *faultOf(const Operation &operation);

  static void evaluate(Operation &operation);
  static void multiply(Operation &operation);
  static void combine(Operation &operation);
  static void reduce(Operation &operation);
  static void reshape(Operation &operation);

  std::map<int64_t, GraphTensor> tensors;
  std::vector<Operation> list;
  std::string why;
};

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_CUDNNGRAPHRUN_H
