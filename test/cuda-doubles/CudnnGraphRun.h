/// What a graph of cuDNN's operations computes, on the host: one operation
/// after the other, each by plain loops, results rounded to their tensor's
/// type. Of the operations there are those that attention is made of.
#ifndef TPSP_TEST_CUDADOUBLES_CUDNNGRAPHRUN_H
#define TPSP_TEST_CUDADOUBLES_CUDNNGRAPHRUN_H

#include "CudnnDescriptor.h"

#include <array>

namespace tpsp::doubles {

/// By unique id. What is passed by value is copied when it is bound.
using Bindings = std::map<int64_t, void *>;

/// A tensor while a graph runs: [batch, head, row, column]. A virtual one is
/// dense in that order, whatever strides it was described with: those say
/// nothing but how a reshape reads it.
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
  /// Whether it was described as a tensor of four dimensions can be.
  bool isLegal() const { return legal; }

  /// Virtual tensors get memory of their own, full of NaNs.
  void bind(void *address);

  int64_t place(const Index &at) const;
  /// Between neighbours along a dimension.
  int64_t pitch(size_t dimension) const { return strides[dimension]; }
  /// The element at this place of a tensor with the described strides.
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
  /// `operations`: finalized descriptors.
  explicit GraphRun(const std::vector<DescriptorRef> &operations);
  GraphRun(const GraphRun &) = delete;

  /// Empty, or why no engine would take the graph.
  const std::string &refusal() const { return why; }
  /// What a caller has to bind.
  std::vector<const GraphTensor *> given() const;
  /// NaNs where a result was not computed.
  void run(const Bindings &bindings);

private:
  /// Operands in the order of the operation's attributes, null where it has
  /// none.
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
