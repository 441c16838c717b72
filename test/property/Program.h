/// A sharded einsum program as plain data. The generator makes it, a failing
/// one is made smaller, and it can be printed as .mlir.
#ifndef TPSP_TEST_PROPERTY_PROGRAM_H
#define TPSP_TEST_PROPERTY_PROGRAM_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tpsp::property {

struct Axis {
  std::string name;
  int64_t size = 1;
  /// "", "data" or "model".
  std::string role;
};

struct Dim {
  std::string name;
  int64_t extent = 1;
  /// Major to minor.
  std::vector<std::string> axes;
};

struct Tensor {
  std::vector<Dim> dims;
  /// Whether the compiler places it ('?').
  bool unplaced = false;
  std::vector<std::string> pending;
  /// How the pending summands combine: "sum" or "max".
  std::string reduction = "sum";
  /// If empty, the program's element type.
  std::string element;
  /// For an argument of integers, which are in [0, below).
  int64_t below = 0;
  /// Whether elements may be minus infinity, which hides keys of attention. No
  /// other operation can use such a value.
  bool hides = false;

  const Dim *find(const std::string &name) const;
  int64_t elements() const;
  bool uses(const std::string &axis) const;
  bool isInteger() const { return element == "i32"; }
};

using ValueId = unsigned;

/// How a sum may wait until after an operation.
enum class Linear { No, Jointly, InEach };

struct Operation {
  std::string mnemonic;
  std::vector<ValueId> operands;
  /// "{over = \"t\"}", or empty.
  std::string attributes;
  ValueId result = 0;
  Linear linear = Linear::No;
};

struct Argument {
  ValueId value = 0;
  bool isParameter = false;
};

/// Options of tpsp-run besides the program. They change how the program is run,
/// and never its results.
struct PipelineChoices {
  /// An index's name, and the multiple to which its extent is padded.
  std::vector<std::pair<std::string, int64_t>> pad;
  int64_t microBatches = 1;
  std::string microBatchIndex;
  /// Stages of a pipeline, and chunks of operations: as many on each stage.
  int64_t stages = 1, chunks = 1;
  std::string stageSchedule = "1f1b", stagePlacement = "cyclic";
  std::string rematerialize = "none";
  bool keepGathered = false;
  bool keepMasks = false;
  /// Largest number of keys of a block, for attention in blocks. 0: attention
  /// is in rows or in one call.
  int64_t attentionBlock = 0;
  bool attentionFused = false;
  /// Whether the keys of such calls go around a ring, where they can.
  bool attentionRing = false;
  /// Off, time or on.
  std::string balanceAttention = "time";
  std::string shardReplicated = "off";
  int64_t bucketBytes = 25 << 20;
  /// "none", or how parameters are updated. optimizerAxes divide its state.
  std::string optimizer = "none";
  std::vector<std::string> optimizerAxes;
  double clip = 0;
  /// Named as the options of the compiler.
  std::string reduceGradients = "step", gatherParameters = "update",
              lossScale = "none", reduceDtype;
  /// Whether collectives get streams of their own, if that pays on `hardware`.
  bool overlap = false;
  std::string hardware = "cpu";
  int64_t overlapChunks = 0;
  double overlapMemory = 0.05;

  /// Returns flags of tpsp-run; empty if all choices are defaults.
  std::string text() const;
};

/// What the generator knows about a program.
enum class Expectation {
  Legal,   ///< it must compile and agree
  Illegal, ///< it must be refused
  Unknown  ///< either, but never a wrong number
};

struct Program {
  std::vector<Axis> mesh;
  /// "f64", "f32", "bf16" or "f16".
  std::string element = "f64";
  std::vector<Tensor> values;
  std::vector<Argument> arguments;
  std::vector<Operation> operations;
  std::vector<ValueId> results;
  /// Whether there is a backward pass.
  bool grad = true;
  PipelineChoices pipeline;

  Expectation expectation = Expectation::Unknown;
  /// How it was placed, or its mistake, for the statistics.
  std::string kind;
  /// An illegal program's message must contain one of these.
  std::vector<std::string> messages;

  /// Returns null if the value is no argument.
  const Argument *argument(ValueId value) const;
  /// Returns null if the value is an argument.
  const Operation *definition(ValueId value) const;
  /// Whether an operation has inner values, which cannot be placed by hand.
  bool hasHiddenValues() const;
  /// Whether an operation has this mnemonic.
  bool uses(const std::string &mnemonic) const;
  int64_t numRanks() const;
  int64_t sizeOf(const std::string &axis) const;
  /// The extent of a dimension when the program runs, with its padding.
  int64_t extentToRun(const Dim &dim) const;
  /// The number of parts into which axes divide a dimension.
  int64_t rankCount(const Dim &dim) const;
  /// Whether another axis of `size` ranks can divide a dimension.
  bool canDivide(const Dim &dim, int64_t size) const {
    return extentToRun(dim) % (rankCount(dim) * size) == 0;
  }
};

/// "tensor<4x6xf64, #tpsp.idx<b@dp, s>>".
std::string typeText(const Program &program, ValueId value);

/// The program as a module with one function @f.
std::string toText(const Program &program);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_PROGRAM_H
