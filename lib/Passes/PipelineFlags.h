/// The rows of Options.def as options of tpsp-opt's pipelines.
#ifndef TPSP_LIB_PASSES_PIPELINEFLAGS_H
#define TPSP_LIB_PASSES_PIPELINEFLAGS_H

#include "tpsp/Passes/CompileOptions.h"
#include "tpsp/Passes/HardwareOption.h"

#include "mlir/Pass/PassOptions.h"

namespace tpsp {

/// Refuses values that are not among a row's words.
struct WordParser : public llvm::cl::parser<std::string> {
  using llvm::cl::parser<std::string>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             std::string &value) {
    value = text.str();
    std::string problem = row->problemOf(value);
    return !problem.empty() && option.error(problem);
  }

  const OptionRow *row = nullptr;
};

/// Refuses numbers outside a row's domain. Wraps LLVM's parsers of numbers,
/// which are final.
template <typename T> struct NumberParser : public llvm::cl::basic_parser<T> {
  explicit NumberParser(llvm::cl::Option &option)
      : llvm::cl::basic_parser<T>(option), numbers(option) {}

  operator const llvm::cl::parser<T> &() const { return numbers; }

  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, T &value) {
    if (numbers.parse(option, name, text, value))
      return true;
    std::string problem =
        problemOf(row->domain, static_cast<double>(value), text.str());
    return !problem.empty() && option.error(problem);
  }

  llvm::cl::parser<T> numbers;
  const OptionRow *row = nullptr;
};

struct PipelineFlags : public mlir::PassPipelineOptions<PipelineFlags> {
  PipelineFlags() {
    CompileOptions::forEachOption([this](auto field, const OptionRow &row) {
      if (row.isInPipelines)
        add(field, row);
    });
  }

  /// The values that were given; other fields have the table's values.
  CompileOptions values() const {
    CompileOptions values;
    for (const auto &copyTo : copies)
      copyTo(values);
    return values;
  }

private:
  template <typename T>
  void add(T CompileOptions::*field, const OptionRow &row) {
    addParsed<NumberParser<T>>(field, row);
  }
  void add(std::string CompileOptions::*field, const OptionRow &row) {
    addParsed<WordParser>(field, row);
  }
  void add(bool CompileOptions::*field, const OptionRow &row) {
    own(field, makeOption<llvm::cl::parser<bool>>(field, row));
  }
  void add(HardwareChoice CompileOptions::*field, const OptionRow &row) {
    own(field, makeOption<llvm::cl::parser<HardwareChoice>>(field, row));
  }

  template <typename Parser, typename T>
  void addParsed(T CompileOptions::*field, const OptionRow &row) {
    auto option = makeOption<Parser>(field, row);
    option->getParser().row = &row;
    own(field, std::move(option));
  }

  template <typename Parser, typename T>
  std::shared_ptr<Option<T, Parser>> makeOption(T CompileOptions::*field,
                                                const OptionRow &row) {
    return std::make_shared<Option<T, Parser>>(
        *this, row.name, llvm::cl::desc(row.help),
        llvm::cl::init(CompileOptions().*field));
  }

  void add(std::vector<std::string> CompileOptions::*field,
           const OptionRow &row) {
    auto list = std::make_shared<ListOption<std::string>>(
        *this, row.name, llvm::cl::desc(row.help));
    copies.push_back([field, list](CompileOptions &values) {
      values.*field = std::vector<std::string>(list->begin(), list->end());
    });
  }

  template <typename T, typename Flag>
  void own(T CompileOptions::*field, std::shared_ptr<Flag> flag) {
    copies.push_back([field, flag](CompileOptions &values) {
      values.*field = flag->getValue();
    });
  }

  /// Functions that copy an option's value; each owns its option.
  std::vector<std::function<void(CompileOptions &)>> copies;
};

} // namespace tpsp

#endif // TPSP_LIB_PASSES_PIPELINEFLAGS_H
