/// A program of tpsp's operations whose indices are atoms: what an archive's
/// graph becomes before it is text.
#ifndef TPSP_IMPORT_TORCH_PROGRAM_H
#define TPSP_IMPORT_TORCH_PROGRAM_H

#include "Atoms.h"
#include "Constant.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tpsp::import::torch {

/// The number of a value in Program::values.
using ValueId = int;

struct ProgramValue {
  /// Each once. Atoms may have been split since: see Atoms::leaves.
  AtomList atoms;
  /// "f32", "bf16", "f16", "f64" or "i32".
  std::string element;
};

/// An attribute that names an index, or several as one.
struct IndexAttribute {
  AtomList atoms;
  /// Whether it is written as a list: ["v"].
  bool isList = false;
};

/// true: a word without a value, such as `causal`.
using Attribute =
    std::variant<bool, int64_t, double, std::string, IndexAttribute>;
using Attributes = std::map<std::string, Attribute>;

struct Operation {
  std::string name;
  std::vector<ValueId> operands;
  ValueId result = -1;
  Attributes attributes;
  /// Atoms that are one index each in this operation, even if they were split
  /// since. Those of attributes are, too.
  AtomList blocks;
  /// The modules that contain it, outermost first.
  std::vector<std::string> modules;
};

/// An argument of the program. Its value has the atoms of all its dimensions.
struct ProgramArgument {
  enum class Kind { Input, Parameter };
  Kind kind = Kind::Input;
  ValueId value = -1;
  std::string stored;
  std::vector<AtomList> dims;
  ScalarType type = ScalarType::F32;
  bool isFrozen = false;
  /// Its elements, if it is none of the archive's tensors.
  ConstantPtr constant;
};

struct ProgramResult {
  ValueId value = -1;
  std::vector<AtomList> dims;
  std::string name;
};

struct Program {
  Atoms atoms;
  std::vector<ProgramValue> values;
  std::vector<ProgramArgument> arguments;
  std::vector<Operation> operations;
  std::vector<ProgramResult> results;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_PROGRAM_H
