#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"

using namespace mlir;
using namespace tpsp;

ArgumentAttrs::ArgumentAttrs(FunctionOpInterface function)
    : function(function) {
  function.getAllArgAttrs(all);
}

void ArgumentAttrs::set(unsigned argument, StringRef name, Attribute value) {
  if (get(argument, name) == value)
    return;
  NamedAttrList own(all[argument]);
  if (value)
    own.set(name, value);
  else
    own.erase(name);
  all[argument] = own.getDictionary(function->getContext());
  isChanged = true;
}

void ArgumentAttrs::write() {
  if (isChanged)
    function.setAllArgAttrs(all);
  isChanged = false;
}

unsigned AddedArguments::add(Type type, DictionaryAttr own, Location loc) {
  types.push_back(type);
  attributes.push_back(own);
  locations.push_back(loc);
  return function.getNumArguments() + types.size() - 1;
}

void AddedArguments::insert() {
  SmallVector<unsigned> places(types.size(), function.getNumArguments());
  (void)function.insertArguments(places, types, attributes, locations);
}
