/// A tpsp program as text, written operation by operation.
///
///   ProgramText program(placement);
///   program.extent("b", 2); program.extent("d", 64);
///   FunctionText layer(program, "layer");
///   Value x = layer.argument("x", {{"b", "d"}, "f32", Where::Activation},
///   "x"); Value y = layer.apply("gelu", {x}, "y", {{"b", "d"}, "f32"}, "x_");
///   layer.finish(y);
///
/// An index name means one extent all through a program. Types become aliases:
/// the first user of a type proposes its name.
#ifndef TPSP_IMPORT_PROGRAMTEXT_H
#define TPSP_IMPORT_PROGRAMTEXT_H

#include "Placement.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tpsp::import {

using Indices = std::vector<std::string>;

struct Type {
  Indices indices;
  /// "f32", "bf16", "f16" or "i32".
  std::string element;
  Where where = Where::Open;
};

struct Value {
  std::string name; ///< with its '%'
  Type type;
};

class ProgramText {
public:
  explicit ProgramText(Placement placement) : placement(std::move(placement)) {}

  void extent(const std::string &index, int64_t size) { sizes[index] = size; }
  int64_t extent(const std::string &index) const { return sizes.at(index); }
  /// How many elements a tensor of these indices has; the largest number if
  /// there is none for them.
  int64_t elements(const Indices &indices) const;

  /// "!x": the alias of a type, `proposed` if that is free.
  std::string alias(const Type &type, const std::string &proposed);

  void addFunction(const std::string &text) { functions += "\n" + text; }
  /// The whole program, `heading` as its first comment.
  std::string text(const std::string &heading) const;

private:
  std::string typeText(const Type &type) const;
  std::string meshText() const;

  Placement placement;
  std::map<std::string, int64_t> sizes;
  /// Aliases with the types that they stand for, in the order of first use.
  std::vector<std::pair<std::string, std::string>> aliases;
  std::string functions;
};

/// One function of a program.
class FunctionText {
public:
  /// `visibility` is "private " or empty.
  FunctionText(ProgramText &program, std::string name, std::string visibility)
      : program(program), function(std::move(name)),
        visibility(std::move(visibility)) {}

  /// `attributes`: "{tpsp.name = "x"}", or empty.
  Value argument(const std::string &name, const Type &type,
                 const std::string &proposed,
                 const std::string &attributes = "");
  void comment(const std::string &text) {
    body += (body.empty() ? "  // " : "\n  // ") + text + "\n";
  }

  /// Writes one operation: `attributes` without braces. The name of the result
  /// gets a number if the function has it already.
  Value apply(const std::string &operation, const std::vector<Value> &operands,
              const std::string &name, const Type &type,
              const std::string &proposed, const std::string &attributes = "");
  Value call(const FunctionText &callee, const std::vector<Value> &operands,
             const std::string &name);
  /// Returns `result`, whose type is the function's, and adds the function to
  /// its program.
  void finish(const Value &result);

  ProgramText &in() { return program; }

private:
  std::string unusedName(const std::string &name);
  std::string operandTypes(const std::vector<Value> &operands,
                           const std::string &result, bool isCall);

  ProgramText &program;
  std::string function, visibility, body;
  std::vector<std::string> arguments;
  std::map<std::string, int> taken;
  Type resultType;
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_PROGRAMTEXT_H
