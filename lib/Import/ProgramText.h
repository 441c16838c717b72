/// A tpsp program in short form, written operation by operation.
///
///   ProgramText program(strategy, "bf16");
///   program.extent("b", 2); program.extent("d", 64);
///   FunctionText layer(program, "layer", "private ");
///   Value x = layer.argument("x", {{"b", "d"}, "bf16", Where::Activation});
///   Value y = layer.apply("gelu", {x}, "y", {{"b", "d"}, "bf16"});
///   layer.finish(y);
///
/// An index name has one extent throughout a program.
#ifndef TPSP_IMPORT_PROGRAMTEXT_H
#define TPSP_IMPORT_PROGRAMTEXT_H

#include "Strategy.h"

#include <map>
#include <set>
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
  /// `element`: the element type of tensors whose type names none.
  ProgramText(Strategy strategy, std::string element)
      : strategy(std::move(strategy)), element(std::move(element)) {}

  void extent(const std::string &index, int64_t size) { sizes[index] = size; }
  int64_t extent(const std::string &index) const { return sizes.at(index); }
  bool hasExtent(const std::string &index) const {
    return sizes.count(index) > 0;
  }
  /// Declares that `index` has the extent of `other`.
  void sameExtent(const std::string &index, const std::string &other) {
    same[index] = other;
  }
  /// Declares that parameters are divided along `index` as along `role`, if the
  /// axes divide its extent, and no other index of the parameter.
  void sameRole(const std::string &index, const std::string &role) {
    roles[index] = role;
  }
  /// The axes that divide an index of a tensor of this type.
  std::vector<PlacedAxis> axesOf(const Type &type,
                                 const std::string &index) const;
  /// The number of elements of a tensor with these indices; INT64_MAX if it
  /// overflows.
  int64_t elements(const Indices &indices) const;

  /// "[b, s@tp, d]", "i32[b, s]". `namesElement`: "f32[b, s]" even if the
  /// program is of f32.
  std::string typeText(const Type &type, bool namesElement = false);
  /// INVALID if axes do not divide the extent of their index.
  rt::Status check() const;

  void addFunction(const std::string &text) { functions += "\n" + text; }
  /// The whole program, with `heading` as its first comment.
  std::string text(const std::string &heading) const;

private:
  std::string subscript(const Type &type, const std::string &index);
  std::string extentsText() const;
  std::string meshText() const;

  Strategy strategy;
  std::string element;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::string> same, roles;
  /// The indices of the program's tensors.
  std::set<std::string> used;
  /// Indices whose extent their axes do not divide, with these axes.
  std::map<std::string, std::vector<PlacedAxis>> uneven;
  std::string functions;
};

/// One function of a program.
class FunctionText {
public:
  /// `visibility` is "private " or empty.
  FunctionText(ProgramText &program, std::string name, std::string visibility)
      : program(program), function(std::move(name)),
        visibility(std::move(visibility)) {}

  /// `attributes`: "{tpsp.below = 4}", or empty.
  Value argument(const std::string &name, const Type &type,
                 const std::string &attributes = "");
  /// A parameter called `stored`.
  Value parameter(const std::string &name, const std::string &stored,
                  const Type &type, const std::string &attributes = "");
  void comment(const std::string &text) {
    body += (body.empty() ? "  // " : "\n  // ") + text + "\n";
  }

  /// Writes one operation. `attributes` has no braces. The result's name gets a
  /// number if the function already has that name.
  Value apply(const std::string &operation, const std::vector<Value> &operands,
              const std::string &name, const Type &type,
              const std::string &attributes = "");
  /// Writes `times` calls, one after the other, whose parameters become
  /// parameters of this function. A parameter's name is `prefix`, the number of
  /// the call, a point and the callee's name for it. The first call's number is
  /// `first`. Results have the operands' names with the number of the next
  /// call.
  std::vector<Value> repeat(const FunctionText &callee,
                            const std::vector<Value> &operands,
                            const std::vector<std::string> &names,
                            const std::string &prefix, int64_t first,
                            int64_t times);
  /// Ends the function with `results`, whose types are its result types, and
  /// adds it to the program.
  void finish(const std::vector<Value> &results);

  ProgramText &in() { return program; }

private:
  std::string unusedName(const std::string &name);

  ProgramText &program;
  std::string function, visibility, body;
  std::vector<std::string> arguments;
  std::map<std::string, int> taken;
  std::vector<Type> resultTypes;
};

} // namespace tpsp::import

#endif // TPSP_IMPORT_PROGRAMTEXT_H
