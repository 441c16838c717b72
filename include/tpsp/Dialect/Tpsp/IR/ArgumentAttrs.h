/// Collects changes to the attributes of a function's arguments, and writes
/// them at once.
///
///   ArgumentAttrs attributes(function);
///   for (BlockArgument argument : function.getArguments())
///     attributes.set(argument.getArgNumber(), frozenAttrName, mark);
///   attributes.write();
///
/// A function holds these attributes in one array, which every setArgAttr()
/// builds anew. Setting them one by one would be quadratic in the number of
/// parameters.
#ifndef TPSP_DIALECT_TPSP_IR_ARGUMENTATTRS_H
#define TPSP_DIALECT_TPSP_IR_ARGUMENTATTRS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

class ArgumentAttrs {
public:
  explicit ArgumentAttrs(mlir::FunctionOpInterface function);

  /// Null if the argument has no attribute of that name.
  mlir::Attribute get(unsigned argument, llvm::StringRef name) const {
    return all[argument].get(name);
  }
  /// A null `value` removes the attribute.
  void set(unsigned argument, llvm::StringRef name, mlir::Attribute value);

  /// Writes the attributes back to the function, whose number of arguments must
  /// not have changed.
  void write();

private:
  mlir::FunctionOpInterface function;
  llvm::SmallVector<mlir::DictionaryAttr> all;
  bool isChanged = false;
};

/// Arguments to be added after those that a function has. They are inserted at
/// once, because each insertion rebuilds the function's type.
class AddedArguments {
public:
  explicit AddedArguments(mlir::FunctionOpInterface function)
      : function(function) {}

  /// Returns the number that the argument will have.
  unsigned add(mlir::Type type, mlir::DictionaryAttr attributes,
               mlir::Location loc);
  /// Inserts the added arguments. The function's arguments must not have
  /// changed since construction.
  void insert();

private:
  mlir::FunctionOpInterface function;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  llvm::SmallVector<mlir::Location> locations;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_ARGUMENTATTRS_H
