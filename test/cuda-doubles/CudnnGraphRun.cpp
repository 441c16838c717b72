#include "CudnnGraphRun.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tpsp::doubles {

using Index = GraphTensor::Index;

namespace {

template <typename Body> void forEach(const Index &extents, const Body &body) {
  Index at{};
  for (at[0] = 0; at[0] < extents[0]; ++at[0])
    for (at[1] = 0; at[1] < extents[1]; ++at[1])
      for (at[2] = 0; at[2] < extents[2]; ++at[2])
        for (at[3] = 0; at[3] < extents[3]; ++at[3])
          body(at);
}

bool isHalf(const GraphTensor &tensor) {
  return tensor.type() == CUDNN_DATA_HALF ||
         tensor.type() == CUDNN_DATA_BFLOAT16;
}

double apply(int mode, double x, double y, double test) {
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
    return x + y;
  case CUDNN_POINTWISE_SUB:
    return x - y;
  case CUDNN_POINTWISE_MUL:
    return x * y;
  case CUDNN_POINTWISE_DIV:
    return x / y;
  case CUDNN_POINTWISE_EXP:
    return std::exp(x);
  case CUDNN_POINTWISE_LOG:
    return std::log(x);
  case CUDNN_POINTWISE_IDENTITY:
    return x;
  case CUDNN_POINTWISE_TANH_FWD:
    return std::tanh(x);
  case CUDNN_POINTWISE_CMP_GE:
    return x >= y;
  case CUDNN_POINTWISE_CMP_GT:
    return x > y;
  case CUDNN_POINTWISE_CMP_EQ:
    return x == y;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return test != 0 ? x : y;
  default:
    return NAN;
  }
}

bool isKnown(int mode) {
  return mode == CUDNN_POINTWISE_GEN_INDEX || !std::isnan(apply(mode, 1, 1, 1));
}

} // namespace

GraphRun::GraphRun(const std::vector<DescriptorRef> &operations) {
  for (const DescriptorRef &operation : operations)
    add(*operation);
  if (why.empty())
    order();
  if (why.empty())
    check();
}

GraphTensor *GraphRun::tensor(const Descriptor &operation,
                              cudnnBackendAttributeName_t name) {
  DescriptorRef descriptor = operation.descriptor(name);
  if (!descriptor)
    return nullptr;
  GraphTensor fresh(*descriptor);
  if (!fresh.isLegal())
    why = "a tensor without id, or not of four dimensions";
  return &tensors.emplace(fresh.id(), std::move(fresh)).first->second;
}

void GraphRun::add(const Descriptor &d) {
  Operation operation{d.type};
  auto read = [&](std::vector<cudnnBackendAttributeName_t> inputs,
                  cudnnBackendAttributeName_t result) {
    for (auto name : inputs)
      operation.inputs.push_back(tensor(d, name));
    operation.result = tensor(d, result);
  };
  if (d.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    read({CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC},
         CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  } else if (d.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    read({CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
          CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
          CUDNN_ATTR_OPERATION_POINTWISE_TDESC},
         CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    DescriptorRef how =
        d.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    operation.mode = how ? how->value<int>(CUDNN_ATTR_POINTWISE_MODE, -1) : -1;
    operation.axis = how ? how->value<int64_t>(CUDNN_ATTR_POINTWISE_AXIS) : 0;
  } else if (d.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    read({CUDNN_ATTR_OPERATION_REDUCTION_XDESC},
         CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    DescriptorRef how = d.descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    operation.mode =
        how ? how->value<int>(CUDNN_ATTR_REDUCTION_OPERATOR, -1) : -1;
  } else if (d.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) {
    read({CUDNN_ATTR_OPERATION_RESHAPE_XDESC},
         CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  } else {
    why = "an operation of a kind that attention has not";
  }
  if (!operation.result || operation.inputs.empty() || !operation.inputs[0])
    why = "an operation without operand or result";
  list.push_back(operation);
}

/// Sorts operations after those whose results they read. The caller may list
/// them in any order.
void GraphRun::order() {
  std::set<const GraphTensor *> waiting;
  for (const Operation &operation : list)
    waiting.insert(operation.result);
  auto isReady = [&](const Operation &operation) {
    return std::none_of(operation.inputs.begin(), operation.inputs.end(),
                        [&](auto *input) { return waiting.count(input); });
  };
  for (auto next = list.begin(); next != list.end(); ++next) {
    auto ready = std::find_if(next, list.end(), isReady);
    if (ready == list.end()) {
      why = "operations that wait for each other";
      return;
    }
    waiting.erase(ready->result);
    std::rotate(next, ready, ready + 1);
  }
}

/// Checks those requirements of the engines for attention that a caller might
/// miss.
void GraphRun::check() {
  for (const Operation &operation : list)
    if (const char *fault = faultOf(operation)) {
      why = fault;
      return;
    }
  for (const GraphTensor *tensor : given()) {
    if (tensor->isByValue() || !isHalf(*tensor))
      continue;
    const Index &steps = tensor->describedStrides();
    if (std::min(steps[2], steps[3]) != 1)
      why = "features that are not innermost";
    for (size_t i = 0; i < 4; ++i)
      if (steps[i] != 1 && steps[i] % 8 != 0)
        why = "rows that do not start at multiples of 16 bytes";
  }
}

const char *GraphRun::faultOf(const Operation &operation) {
  const Index &to = operation.result->extents();
  auto divides = [&](const GraphTensor &small, const Index &large) {
    for (size_t i = 0; i < 4; ++i)
      if (large[i] % small.extents()[i] != 0)
        return false;
    return true;
  };
  if (operation.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    if (!operation.inputs[1])
      return "a product of one operand";
    const Index &a = operation.inputs[0]->extents(),
                &b = operation.inputs[1]->extents();
    if (a[3] != b[2] || a[2] != to[2] || b[3] != to[3] || to[1] % a[1] ||
        to[1] % b[1] || to[0] != a[0] || to[0] != b[0])
      return "a product of extents that do not fit";
    // Virtual tensors may have 32 bits, because the engines round those
    // themselves.
    for (const GraphTensor *input : operation.inputs)
      if (!input->isVirtual() && !isHalf(*input))
        return "a product that is not of 16-bit elements";
  } else if (operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    if (!isKnown(operation.mode))
      return "a function that attention has not";
    for (const GraphTensor *input : operation.inputs)
      if (input && !divides(*input, to))
        return "a function of extents that do not fit";
  } else if (operation.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    if (!divides(*operation.result, operation.inputs[0]->extents()) ||
        (operation.mode != CUDNN_REDUCE_TENSOR_ADD &&
         operation.mode != CUDNN_REDUCE_TENSOR_MAX))
      return "a reduction of another kind";
  }
  return nullptr;
}

std::vector<const GraphTensor *> GraphRun::given() const {
  std::vector<const GraphTensor *> result;
  for (const auto &[id, tensor] : tensors)
    if (!tensor.isVirtual())
      result.push_back(&tensor);
  return result;
}

void GraphRun::run(const Bindings &bindings) {
  for (auto &[id, tensor] : tensors)
    tensor.bind(tensor.isVirtual() ? nullptr : bindings.at(id));
  for (Operation &operation : list)
    evaluate(operation);
}

void GraphRun::evaluate(Operation &operation) {
  if (operation.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
    multiply(operation);
  else if (operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
    combine(operation);
  else if (operation.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
    reduce(operation);
  else
    reshape(operation);
}

/// If an operand has fewer heads, each of its heads serves several consecutive
/// heads of the result.
void GraphRun::multiply(Operation &operation) {
  const GraphTensor &a = *operation.inputs[0], &b = *operation.inputs[1];
  GraphTensor &c = *operation.result;
  int64_t perA = c.extents()[1] / a.extents()[1];
  int64_t perB = c.extents()[1] / b.extents()[1];
  int64_t depth = a.extents()[3];
  int64_t stepA = a.pitch(3), stepB = b.pitch(2);
  forEach(c.extents(), [&](const Index &at) {
    int64_t fromA = a.place({at[0], at[1] / perA, at[2], 0});
    int64_t fromB = b.place({at[0], at[1] / perB, 0, at[3]});
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += float(a.load(fromA + k * stepA) * b.load(fromB + k * stepB));
    c.store(c.place(at), sum);
  });
}

void GraphRun::combine(Operation &operation) {
  GraphTensor &y = *operation.result;
  auto operand = [&](size_t i, const Index &at) {
    const GraphTensor *tensor =
        i < operation.inputs.size() ? operation.inputs[i] : nullptr;
    return tensor ? tensor->load(tensor->place(at)) : 0;
  };
  forEach(y.extents(), [&](const Index &at) {
    bool counts = operation.mode == CUDNN_POINTWISE_GEN_INDEX;
    y.store(y.place(at), counts ? double(at[size_t(operation.axis)])
                                : apply(operation.mode, operand(0, at),
                                        operand(1, at), operand(2, at)));
  });
}

/// Reduces each block of neighbours to one element.
void GraphRun::reduce(Operation &operation) {
  const GraphTensor &x = *operation.inputs[0];
  GraphTensor &y = *operation.result;
  Index per;
  for (size_t i = 0; i < 4; ++i)
    per[i] = x.extents()[i] / y.extents()[i];
  bool adds = operation.mode == CUDNN_REDUCE_TENSOR_ADD;
  forEach(y.extents(), [&](const Index &to) {
    double result = adds ? 0 : -HUGE_VAL;
    forEach(per, [&](const Index &step) {
      Index from;
      for (size_t i = 0; i < 4; ++i)
        from[i] = to[i] * per[i] + step[i];
      double value = x.load(x.place(from));
      // A NaN is kept.
      result = adds ? result + value : !(value <= result) ? value : result;
    });
    y.store(y.place(to), result);
  });
}

/// Keeps the elements at their places, which the result's strides address anew.
void GraphRun::reshape(Operation &operation) {
  const GraphTensor &x = *operation.inputs[0];
  GraphTensor &y = *operation.result;
  const Index &steps = y.describedStrides();
  forEach(y.extents(), [&](const Index &at) {
    int64_t place = 0;
    for (size_t i = 0; i < 4; ++i)
      place += at[i] * steps[i];
    y.store(y.place(at), x.load(x.place(x.describedIndex(place))));
  });
}

} // namespace tpsp::doubles
