#include "tpsp/Planning/Planning.h"

#include "KeptText.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/Syntax/ShortForm.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <fmt/ranges.h>

#include <set>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// Flags of a command line, in their order.
struct Flags {
  std::string text;

  void add(const std::string &flag) {
    text += (text.empty() ? "" : " ") + flag;
  }
  void add(const std::string &name, const std::string &value) {
    add("--" + name + " " + inShell(value));
  }

private:
  /// The value quoted as one word of a shell.
  static std::string inShell(const std::string &value) {
    bool isPlain = llvm::all_of(value, [](char c) {
      return llvm::isAlnum(c) || StringRef("_./=,:+@%-").contains(c);
    });
    if (isPlain && !value.empty())
      return value;
    std::string quoted = "'";
    for (char c : value)
      quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
  }
};

/// Writes the flags with which tpsp-run predicts the same plan. Flags that
/// equal its defaults are left out.
class DifferingRows {
public:
  /// `all`: the options that all plans have, of which tpsp-run would choose
  /// those that are `automatic`.
  DifferingRows(const CompileOptions &compile, const CompileOptions &all,
                const std::set<std::string> &automatic, Flags &flags)
      : compile(compile), all(all), automatic(automatic), flags(flags) {}

  template <typename T>
  void operator()(T CompileOptions::*field, const OptionRow &row) {
    std::string value = textOf(compile.*field);
    bool differs = row.automatic ? automatic.count(row.name) == 0 ||
                                       value != textOf(all.*field)
                                 : value != textOf(initial.*field);
    if (row.isInRun && differs)
      add(row, compile.*field);
  }

private:
  static std::string textOf(bool value) { return value ? "on" : "off"; }
  static std::string textOf(const std::string &value) { return value; }
  static std::string textOf(const std::vector<std::string> &values) {
    return fmt::format("{}", fmt::join(values, ","));
  }
  static std::string textOf(const HardwareChoice &value) {
    return value.name();
  }
  template <typename Number> static std::string textOf(Number value) {
    return fmt::format("{}", value);
  }

  void add(const OptionRow &row, bool value) {
    if (row.isOnOff)
      flags.add(row.name, textOf(value));
    else
      flags.add(std::string("--") + row.name);
  }
  template <typename T> void add(const OptionRow &row, const T &value) {
    flags.add(row.name, textOf(value));
  }

  const CompileOptions &compile, &all;
  const CompileOptions initial;
  const std::set<std::string> &automatic;
  Flags &flags;
};

} // namespace

/// "--grad --micro-batches 2 --simulate".
static std::string flagsOf(const CompileOptions &compile,
                           const CompileOptions &all,
                           const std::set<std::string> &automatic,
                           const Candidate &candidate) {
  Flags flags;
  CompileOptions::forEachOption(DifferingRows(compile, all, automatic, flags));
  if (candidate.hasStages())
    flags.add("stage-schedule", candidate.settings.schedule);
  if (candidate.settings.chunks > 1)
    flags.add("stage-chunks", std::to_string(candidate.settings.chunks));
  flags.add("--simulate");
  return flags.text;
}

/// The options with which the plan was evaluated, on a machine that has its
/// devices.
static CompileOptions judgedWith(const CompileOptions &all,
                                 const std::string &hardware,
                                 const Evaluation &plan) {
  CompileOptions compile = compileOptionsFor(all, all.function, plan.candidate);
  compile.hardware = hardware;
  if (!plan.isSerial)
    return compile;
  const CompileOptions initial;
  compile.overlap = "off";
  compile.overlapMemory = initial.overlapMemory;
  compile.overlapChunks = initial.overlapChunks;
  return compile;
}

/// The comment at the head: the plan's subscripts and name, and the command
/// that predicts it. An empty line follows it in the file.
static llvm::Expected<std::string> headOf(const PlanningRequest &request,
                                          const Evaluation &plan,
                                          const ProgramFacts &facts) {
  const Candidate &candidate = plan.candidate;
  const CompileOptions &all = request.evaluator.compile;
  llvm::Expected<std::string> hardware =
      clusterOf(all.hardware.name(), candidate.numRanks());
  if (!hardware)
    return hardware.takeError();
  std::string flags = flagsOf(judgedWith(all, *hardware, plan), all,
                              request.automatic, candidate);
  if (llvm::any_of(flags, [](unsigned char c) { return c < ' '; }))
    return llvm::createStringError(
        "the program's head has the command that predicts the plan, and an "
        "option has a control character, which a comment cannot have; give "
        "the file of --hardware another name");
  std::string subscripts = candidate.numRanks() > 1
                               ? "// " + subscriptText(candidate, facts) + "\n"
                               : "";
  return subscripts + "// " + usualName(candidate, facts) +
         "\n//\n//   tpsp-run THIS.mlir " + flags + "\n";
}

/// The text without the comment that an earlier plan wrote at its head.
static StringRef withoutHead(StringRef text) {
  size_t end = text.find("\n\n");
  bool isHead = text.starts_with("//") && end != StringRef::npos &&
                text.take_front(end).contains("tpsp-run THIS.mlir");
  return isHead ? text.drop_front(end + 2) : text;
}

/// The short form of a program's text; nullopt if it is none.
static std::optional<std::string> shortFormOf(MLIRContext &context,
                                              StringRef text) {
  constexpr StringLiteral name = "program";
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) {});
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                              llvm::SMLoc());
  // Padded extents need not be divisible, so that nothing is verified.
  auto module = parseSourceFile<ModuleOp>(
      sources, ParserConfig(&context, /*verifyAfterParse=*/false));
  if (!module)
    return std::nullopt;
  SourceNames names;
  names.add(name, text);
  nameValues(*module, names);
  return shortForm(*module);
}

/// The program's file with the mesh and the subscripts of the plan. nullopt if
/// the file cannot say this program in its own words.
static std::optional<std::string> keptText(MLIRContext &context, StringRef path,
                                           const PlacedForms &placed) {
  std::string written;
  if (!rt::readWhole(path.str(), maxModelBytes, written).ok())
    return std::nullopt;
  std::optional<std::string> kept =
      withSubscriptsOf(placed, withoutHead(written));
  if (!kept || shortFormOf(context, *kept) != placed.brief)
    return std::nullopt;
  return kept;
}

llvm::Expected<std::string> tpsp::placedText(MLIRContext &context,
                                             const PlanningRequest &request,
                                             const Evaluation &plan) {
  auto program = PlannedProgram::read(context, request.evaluator.path,
                                      request.evaluator.readOptions());
  if (!program)
    return program.takeError();
  llvm::Expected<std::string> head = headOf(request, plan, (*program)->facts());
  if (!head)
    return head.takeError();
  OwningOpRef<ModuleOp> placed = (*program)->place(plan.candidate);
  PassManager pm(&context);
  pm.addPass(createNameValues());
  if (failed(pm.run(*placed)))
    return llvm::createStringError("the program's values cannot be named");
  if (std::optional<std::string> brief = shortForm(*placed)) {
    std::optional<std::string> whole = shortForm(*placed, WrittenTypes::Every);
    std::optional<std::string> kept = keptText(
        context, request.evaluator.path, {*brief, whole.value_or(*brief)});
    return kept ? *head + "\n" + *kept
                : *head +
                      "//\n// Written anew: the text of the program could "
                      "not be kept.\n\n" +
                      *brief;
  }
  std::string text = *head + "\n";
  llvm::raw_string_ostream out(text);
  // The file has the program's own extents; --pad is among the flags.
  placed.get()->removeAttr(paddingAttrName);
  placed->print(out, OpPrintingFlags().assumeVerified());
  return text;
}
