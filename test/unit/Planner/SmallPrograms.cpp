#include "SmallPrograms.h"

#include <utility>

#include "tpsp/Abi/tpsp_rt.h"

using namespace tpsp;
using namespace tpsp::planner;

static TensorFacts parameter(std::string name, std::vector<ClassId> dims,
                             std::vector<int64_t> shape,
                             std::vector<ClassId> contracted = {}) {
  TensorFacts tensor;
  tensor.name = std::move(name);
  tensor.kind = TensorFacts::Kind::Parameter;
  tensor.dims = std::move(dims);
  tensor.shape = std::move(shape);
  tensor.isTrained = true;
  tensor.summed = {0, 1};
  tensor.contracted = std::move(contracted);
  return tensor;
}

static ProductFacts product(std::vector<ProductFacts::Dim> m,
                            std::vector<ProductFacts::Dim> n,
                            std::vector<ProductFacts::Dim> k) {
  ProductFacts result;
  result.flops = 2;
  for (const auto *group : {&m, &n, &k})
    for (const ProductFacts::Dim &dim : *group)
      result.flops *= double(dim.extent);
  result.m = std::move(m);
  result.n = std::move(n);
  result.k = std::move(k);
  result.dtype = TPSP_RT_F32;
  result.adjoints = 2;
  result.readsParameter = true;
  return result;
}

ProgramFacts tpsp::planner::mlp(int64_t b, int64_t s, int64_t d, int64_t e) {
  ProgramFacts facts;
  facts.program = "mlp";
  facts.classes = {{{"b"}, b}, {{"s", "t"}, s}, {{"d"}, d}, {{"e"}, e}};
  facts.classes[1].isMixed = true;
  TensorFacts x;
  x.name = "x";
  x.dims = {0, 1, 2};
  x.shape = {b, s, d};
  facts.tensors = {x, parameter("up", {3, 2}, {e, d}, {2}),
                   parameter("down", {2, 3}, {d, e}, {3}),
                   parameter("gain", {2}, {d})};
  facts.products = {product({{3, e}}, {{0, b}, {1, s}}, {{2, d}}),
                    product({{2, d}}, {{0, b}, {1, s}}, {{3, e}})};
  facts.completions = {{{3}, {0, 1, 2}, b * s * d * 4}};
  facts.activationClasses = {0, 1};
  facts.tokens = b * s;
  return facts;
}

SpaceNode tpsp::planner::oneAxis(int64_t size, AxisUse use) {
  SpaceNode node;
  node.candidate.axes = {{"a", size, std::move(use)}};
  return node;
}
