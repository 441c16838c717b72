/// The attributes of a function's arguments, while several of them change.
///
///   ArgumentAttrs attributes(function);
///   for (BlockArgument argument : function.getArguments())
///     attributes.set(argument.getArgNumber(), frozenAttrName, mark);
///   attributes.write();
///
/// A function has them in one array, which every setArgAttr() makes anew: of
/// thousands of parameters, one by one, that would be quadratic.
#ifndef TPSP_DIALECT_TPSP_IR_ARGUMENTATTRS_H
#define TPSP_DIALECT_TPSP_IR_ARGUMENTATTRS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

class ArgumentAttrs {
public:
  explicit ArgumentAttrs(mlir::FunctionOpInterface function);

  /// Null if the argument has none of that name.
  mlir::Attribute get(unsigned argument, llvm::StringRef name) const {
    return all[argument].get(name);
  }
  /// A null `value` removes it.
  void set(unsigned argument, llvm::StringRef name, mlir::Attribute value);

  /// Gives the function what was set. It has as many arguments as before.
  void write();

private:
  mlir::FunctionOpInterface function;
  llvm::SmallVector<mlir::DictionaryAttr> all;
  bool isChanged = false;
};

/// Arguments that a function is to have behind those that it has. All at once:
/// each insertion makes the function's type anew.
class AddedArguments {
public:
  explicit AddedArguments(mlir::FunctionOpInterface function)
      : function(function) {}

  /// Returns the number that the argument will have.
  unsigned add(mlir::Type type, mlir::DictionaryAttr attributes,
               mlir::Location loc);
  /// Inserts what was added. The function has had no others since.
  void insert();

private:
  mlir::FunctionOpInterface function;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  llvm::SmallVector<mlir::Location> locations;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_ARGUMENTATTRS_H
