#include "RepeatedCalls.h"

#include "ProgramResolution.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

/// The names of the caller's parameters among a call's last operands.
static std::vector<std::string> lastParameters(func::CallOp call,
                                               func::FuncOp caller) {
  std::vector<std::string> names;
  for (Value operand : llvm::reverse(call.getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    auto name = argument ? caller.getArgAttrOfType<StringAttr>(
                               argument.getArgNumber(), paramAttrName)
                         : StringAttr();
    if (!name || !argument.hasOneUse())
      break;
    names.insert(names.begin(), name.str());
  }
  return names;
}

namespace {
/// A pattern of names, and the callee's own names that it stands for.
struct Naming {
  std::string pattern;
  int64_t number = 0;
  std::vector<std::string> own;
};
} // namespace

/// "h.3." for "h.3.mlp.w": the prefix up to the first number that stands
/// between points or after a word.
static StringRef numberedPrefix(StringRef name) {
  for (size_t at = 0; at < name.size(); ++at)
    if (name[at] == '.' && at > 0 && llvm::isDigit(name[at - 1]))
      return name.take_front(at + 1);
  return {};
}

/// "h.#.*" for "h.3.wq", "h.3.wk"; "*#" for "up3", "down3"; else "*".
static Naming namingOf(ArrayRef<std::string> names) {
  auto each = [&](auto own) {
    std::vector<std::string> all;
    llvm::transform(names, std::back_inserter(all), own);
    return all;
  };
  StringRef prefix = numberedPrefix(names.front());
  Naming naming{"*", 0, names.vec()};
  if (!prefix.empty() && llvm::all_of(names, [&](StringRef name) {
        return name.starts_with(prefix);
      })) {
    StringRef head = prefix.drop_back().rtrim("0123456789");
    naming.pattern = head.str() + "#.*";
    prefix.drop_back().drop_front(head.size()).getAsInteger(10, naming.number);
    naming.own = each(
        [&](StringRef name) { return name.drop_front(prefix.size()).str(); });
    return naming;
  }
  StringRef first = names.front();
  StringRef number = first.drop_front(first.rtrim("0123456789").size());
  if (!number.empty() && llvm::all_of(names, [&](StringRef name) {
        return name.drop_front(name.rtrim("0123456789").size()) == number;
      })) {
    naming.pattern = "*#";
    number.getAsInteger(10, naming.number);
    naming.own = each(
        [&](StringRef name) { return name.drop_back(number.size()).str(); });
  }
  return naming;
}

/// Whether `next` is one more repetition. Its first operands must be the
/// results of the last call, and its parameters must have the next number.
bool RepeatedCalls::goesOn(const RepeatedCall &run, func::CallOp next,
                           ArrayRef<std::string> own) const {
  func::CallOp last = run.last;
  if (!next || next.getCallee() != last.getCallee() ||
      last.getNumResults() > run.given || run.names == "*")
    return false;
  for (size_t i = 0; i < run.given; ++i)
    if (next.getOperand(i) !=
        (i < last.getNumResults() ? last.getResult(i) : last.getOperand(i)))
      return false;
  std::vector<std::string> names =
      lastParameters(next, next->getParentOfType<func::FuncOp>());
  size_t left = next.getNumOperands() - run.given;
  if (names.size() < left)
    return false;
  for (size_t i = 0; i < left; ++i)
    if (names[names.size() - left + i] !=
        parameterName(run.names, run.first + run.times, own[i]))
      return false;
  return true;
}

void RepeatedCalls::begin(func::CallOp call, func::FuncOp callee) {
  std::vector<std::string> names =
      lastParameters(call, call->getParentOfType<func::FuncOp>());
  if (names.empty())
    return;
  Naming naming = namingOf(names);
  auto &own = parameters.try_emplace(callee, naming.own).first->second;
  if (own != naming.own)
    return;
  RepeatedCall run{naming.pattern, naming.number, 1,
                   call.getNumOperands() - names.size(), call};
  auto next = dyn_cast_or_null<func::CallOp>(call->getNextNode());
  while (goesOn(run, next, own)) {
    ++run.times;
    run.last = next;
    within.insert(next);
    next = dyn_cast_or_null<func::CallOp>(next->getNextNode());
  }
  for (Operation *each = call; each != run.last->getNextNode();
       each = each->getNextNode())
    for (Value operand : each->getOperands().drop_front(run.given))
      brought.insert(operand);
  runs.try_emplace(call, run);
}

RepeatedCalls::RepeatedCalls(ModuleOp module) {
  SymbolTable symbols(module);
  module.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (callee && callee.isPrivate() && !isWithin(call))
      begin(call, callee);
  });
}
