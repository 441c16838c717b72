/// One function of a Program as text in the short form.
#ifndef TPSP_IMPORT_TORCH_FUNCTIONWRITER_H
#define TPSP_IMPORT_TORCH_FUNCTIONWRITER_H

#include "../ProgramText.h"
#include "Names.h"

#include <map>
#include <set>
#include <string>

namespace tpsp::import::torch {

/// Writes one function.
class FunctionWriter {
public:
  FunctionWriter(const Program &program, Names &names, ProgramText &text,
                 const std::string &name, const std::string &visibility)
      : function(text, name, visibility), program(program), names(names),
        text(text) {}

  /// `prefix` is left out of the parameter's name.
  void parameter(const ProgramArgument &argument, const std::string &prefix);
  void input(const ProgramArgument &argument);
  /// An operand of a function that is called.
  void operand(ValueId value, const std::string &name, Where where);
  void operation(const Operation &operation);
  Value result(ValueId value, const std::vector<AtomList> &dims,
               const std::string &name);

  const Value &at(ValueId value) const { return values.at(value); }
  void set(ValueId value, Value written) { values[value] = std::move(written); }

  FunctionText function;

private:
  std::string valueName(const Operation &operation);
  /// The name, unless it is a result's.
  std::string distinct(const std::string &name) const;
  /// Whether every dimension is one index.
  bool isPlain(const std::vector<AtomList> &dims) const;
  /// Tells the text about an index.
  void declare(const std::string &name, int64_t extent);
  std::string nameOf(Atom leaf);
  std::string nameOf(const AtomList &leaves);
  Indices indicesOf(const AtomList &atoms);
  /// Whether no axis would divide two indices of a parameter. Such a parameter
  /// is whole.
  bool isPlaceable(const Type &type) const;
  /// The axes that divide the indices of a tensor that lies there.
  std::set<std::string> axesOf(Type type, Where where) const;
  /// Whether an axis would divide both the batch and an index of a parameter
  /// that is broadcast along the batch.
  bool isAmbiguous(const Type &type) const;
  /// An index for each dimension, as the module has them.
  Indices declared(const std::vector<AtomList> &dims);
  /// Makes the value of an argument of what was declared.
  Value undeclared(Value value, const ProgramArgument &argument);
  std::string quoted(const IndexAttribute &index);
  std::string attributesOf(const Operation &operation);
  /// The value with these adjacent leaves as one index.
  Value merged(const Value &value, const AtomList &leaves);

  const Program &program;
  Names &names;
  ProgramText &text;
  std::map<ValueId, Value> values;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_FUNCTIONWRITER_H
