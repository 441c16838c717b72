/// What a compiled program is, apart from its code: its tensors, where they lie
/// in a rank's arena, its mesh, and its collectives. Plain data: made by the
/// compiler, used by everything that runs or reports.
#ifndef TPSP_RUNTIME_MANIFEST_H
#define TPSP_RUNTIME_MANIFEST_H

#include "tpsp/Abi/RankMesh.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tpsp::rt {

/// A tensor that lasts the whole step.
struct ManifestTensor {
  enum class Kind {
    Input,
    Parameter,
    Output,
    Gradient,
    Choice ///< returned for the reference, not by the program
  };

  std::string name;
  Kind kind = Kind::Input;
  /// Which argument, or which result, of the function it is.
  int64_t number = 0;
  /// "b, s@tp, d".
  std::string subscripts;
  /// Global extents.
  std::vector<int64_t> shape;
  /// Per dimension, positions of its axes in the mesh, major to minor.
  std::vector<std::vector<int64_t>> axes;
  /// Axes over which the ranks' values are still to be combined: added, or, if
  /// `pendingMax`, their maximum taken.
  std::vector<int64_t> pending;
  bool pendingMax = false;
  /// TPSP_RT_F32, ...
  int64_t dtype = 0;
  /// Integers: they are in [0, below). 0 if that is not known.
  int64_t below = 0;
  /// Other numbers: where they are made up, they scatter so around this.
  double mean = 0, deviation = 1;
  /// Of a gradient, the number of the argument that it is of; of an input that
  /// is a cotangent, the number of its result; else -1.
  int64_t of = -1;
  /// Of a rank's part, in bytes from the start of its arena.
  int64_t offset = 0;
  /// Of a rank's part.
  int64_t bytes = 0;

  bool isArgument() const {
    return kind == Kind::Input || kind == Kind::Parameter;
  }
  bool isCotangent() const { return kind == Kind::Input && of >= 0; }
};

/// A row of the collective ledger.
struct ManifestCollective {
  std::string kind; ///< "all_gather", ...
  std::vector<std::string> axes;
  std::string index; ///< the index that moves; empty for all_reduce
  std::string phase; ///< "forward" or "backward"
  int64_t bytes = 0; ///< sent per rank by the ring algorithm
  int64_t group = 1; ///< ranks that take part
  std::string tensor;
  std::string reason;
  std::string location; ///< "model.mlir:12:8", or empty
  /// Its tpsp_rt_command.id; several if it was cut into parts.
  std::vector<int64_t> commands;
};

/// Matmuls of one place in the model that have the same epilogue.
struct ManifestEpilogue {
  std::string matmul;   ///< the value that it makes, or empty
  std::string location; ///< "model.mlir:12:8", or empty
  /// "bias", "keep", "gelu", ... (EpilogueStep in Commands.h)
  std::vector<std::string> steps;
  /// Several of a matmul that was cut, or is in each micro-batch.
  int64_t commands = 0;
};

/// Attention of one place in the model that a library does in one call.
struct ManifestAttention {
  std::string call;     ///< "attention" or "attention_gradient"
  std::string value;    ///< the value that it makes, or empty
  std::string location; ///< "model.mlir:12:8", or empty
  /// Several if it is in each micro-batch, or redone.
  int64_t commands = 0;
};

/// For messages and reports.
inline const char *kindName(ManifestTensor::Kind kind) {
  switch (kind) {
  case ManifestTensor::Kind::Input:
    return "input";
  case ManifestTensor::Kind::Parameter:
    return "parameter";
  case ManifestTensor::Kind::Output:
    return "output";
  case ManifestTensor::Kind::Gradient:
    return "gradient";
  case ManifestTensor::Kind::Choice:
    return "choice";
  }
  return "tensor";
}

struct Manifest {
  std::string program;
  std::vector<MeshAxis> mesh;
  int64_t arenaBytes = 0;
  /// What a rank's backward pass keeps of its forward pass.
  int64_t savedBytes = 0;
  /// Arguments, then results, each in the order of the plan.
  std::vector<ManifestTensor> tensors;
  std::vector<ManifestCollective> collectives;
  /// FLOP of one rank's matmuls in one step (2 m n k each), and of the products
  /// in its calls of attention.
  double matmulFlops = 0;
  int64_t commands = 0;
  /// What the plan's commands are numbered with (WorldConfig.h).
  int64_t streams = 1, events = 0;
  /// Products that no matrix layout fits without a transpose copy.
  int64_t transposeCopies = 0;
  std::vector<ManifestEpilogue> epilogues;
  std::vector<ManifestAttention> attention;

  int64_t numRanks() const {
    int64_t ranks = 1;
    for (const MeshAxis &axis : mesh)
      ranks *= axis.size;
    return ranks;
  }
  /// Bytes per rank of all tensors of one kind.
  int64_t bytesOf(ManifestTensor::Kind kind) const {
    int64_t bytes = 0;
    for (const ManifestTensor &tensor : tensors)
      if (tensor.kind == kind)
        bytes += tensor.bytes;
    return bytes;
  }
  /// Bytes per rank of the gradients of inputs.
  int64_t inputGradientBytes() const {
    std::set<int64_t> inputs;
    for (const ManifestTensor &tensor : tensors)
      if (tensor.kind == ManifestTensor::Kind::Input)
        inputs.insert(tensor.number);
    int64_t bytes = 0;
    for (const ManifestTensor &tensor : tensors)
      if (tensor.kind == ManifestTensor::Kind::Gradient &&
          inputs.count(tensor.of) > 0)
        bytes += tensor.bytes;
    return bytes;
  }
  /// Bytes per rank of what lives only within a step, at its peak.
  int64_t activationBytes() const {
    int64_t lasting = 0;
    for (const ManifestTensor &tensor : tensors)
      lasting += tensor.bytes;
    return arenaBytes - lasting;
  }
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MANIFEST_H
