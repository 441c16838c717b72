/// An exported program as its archive has it: nodes of ATen operations, with
/// metadata and signature. Nothing is interpreted here.
#ifndef TPSP_IMPORT_TORCH_GRAPH_H
#define TPSP_IMPORT_TORCH_GRAPH_H

#include "Archive.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tpsp::import::torch {

/// Element types, with the numbers of the archive's schema.
enum class ScalarType {
  U8 = 1,
  I8 = 2,
  I16 = 3,
  I32 = 4,
  I64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  Bool = 12,
  BF16 = 13
};

bool isFloating(ScalarType type);
/// Bytes of an element.
int64_t bytesOf(ScalarType type);
/// "f32", "bf16", ..., as programs write it; integers are "i32".
std::string elementOf(ScalarType type);

using Sizes = std::vector<int64_t>;

/// The product of the sizes; throws a Refusal above 2^48.
int64_t elementsOf(const Sizes &sizes);

struct TensorMeta {
  ScalarType type = ScalarType::F32;
  /// Whether its elements are complex numbers. `type` is then that of their
  /// parts, and the last dimension has the real and the imaginary one.
  bool isComplex = false;
  Sizes sizes, strides;
  int64_t offset = 0;
  bool requiresGrad = false;
};

/// The name of a tensor of the graph. Empty: an optional tensor that is absent.
struct TensorName {
  std::string name;
  bool operator==(const TensorName &other) const { return name == other.name; }
};

/// monostate: None. An element type is a number.
using Argument = std::variant<std::monostate, bool, int64_t, double,
                              std::string, TensorName, std::vector<int64_t>,
                              std::vector<double>, std::vector<TensorName>>;

struct Node {
  /// "aten.linear.default", without "torch.ops.".
  std::string target;
  std::map<std::string, Argument> arguments;
  std::vector<std::string> outputs;
  /// The modules that contain the node, from the outermost on:
  /// "model.layers.0".
  std::vector<std::string> modules;
  /// "modeling_llama.py:111", the innermost line outside of torch.
  std::string line;
};

/// A tensor that a graph takes.
struct GraphInput {
  enum class Kind { Parameter, Buffer, Constant, User };
  Kind kind = Kind::User;
  std::string tensor;
  /// Its name in the module: "model.norm.weight".
  std::string stored;
};

struct GraphOutput {
  /// Mutation: the new value of a buffer.
  enum class Kind { User, Mutation };
  Kind kind = Kind::User;
  std::string tensor;
  std::string stored;
};

/// Where an archive has a tensor's bytes.
struct StoredTensor {
  std::string file;
  TensorMeta meta;
};

struct Graph {
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
  /// By the tensor's name in the module.
  std::map<std::string, StoredTensor> stored;
};

/// Reads the only model of an archive. `extents` has those of dynamic
/// dimensions, "ids.1" to 64. Throws a Refusal if the archive is of another
/// schema or damaged, or if a dimension has no extent.
Graph readGraph(const Archive &archive,
                const std::map<std::string, int64_t> &extents);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_GRAPH_H
