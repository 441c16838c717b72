/// The rows of Options.def as options of a pass, and of a pipeline of tpsp-opt.
///
///   struct Rematerialize
///       : WithOptions<impl::RematerializeBase<Rematerialize>,
///                     &CompileOptions::rematerialize> {
///     void runOnOperation() override { ... options().rematerialize ... }
///   };
///
/// The pass then has the option `rematerialize`, with the row's words, domain,
/// default and help. A pipeline sets it with addPass() below.
#ifndef TPSP_PASSES_OPTIONS_OPTIONFLAGS_H
#define TPSP_PASSES_OPTIONS_OPTIONFLAGS_H

#include "tpsp/Passes/Options/CompileOptions.h"
#include "tpsp/Passes/Options/HardwareOption.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace tpsp {

/// Refuses what is none of a row's words.
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

/// Refuses what is not in a row's domain. Parsers of numbers are final.
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

/// Flags for some of the rows. `Owner` is the pass or the pipeline that has
/// them, `Flag` and `FlagList` are its types of options.
template <typename Owner, template <typename, typename> class Flag,
          template <typename, typename> class FlagList>
class OptionFlags {
public:
  explicit OptionFlags(Owner &owner) : owner(owner) {}
  OptionFlags(const OptionFlags &) = delete;

  /// The given values; the table's values for options that were not given.
  CompileOptions values() const {
    CompileOptions values;
    for (const Copy &copy : copies)
      copy.to(values);
    return values;
  }
  void set(const CompileOptions &values) {
    for (const Copy &copy : copies)
      copy.from(values);
  }

  template <typename T>
  void add(T CompileOptions::*field, const OptionRow &row) {
    addParsed<NumberParser<T>>(field, row);
  }
  void add(std::string CompileOptions::*field, const OptionRow &row) {
    addParsed<WordParser>(field, row);
  }
  void add(bool CompileOptions::*field, const OptionRow &row) {
    own(field, makeFlag<llvm::cl::parser<bool>>(field, row));
  }
  void add(HardwareChoice CompileOptions::*field, const OptionRow &row) {
    own(field, makeFlag<llvm::cl::parser<HardwareChoice>>(field, row));
  }
  void add(std::vector<std::string> CompileOptions::*field,
           const OptionRow &row) {
    using List = FlagList<std::string, llvm::cl::parser<std::string>>;
    auto list =
        std::make_shared<List>(owner, row.name, llvm::cl::desc(row.help));
    copies.push_back({[field, list](CompileOptions &values) {
                        values.*field = std::vector<std::string>(list->begin(),
                                                                 list->end());
                      },
                      [field, list](const CompileOptions &values) {
                        *list = llvm::ArrayRef<std::string>(values.*field);
                      }});
  }

private:
  struct Copy {
    std::function<void(CompileOptions &)> to;
    std::function<void(const CompileOptions &)> from;
  };

  template <typename Parser, typename T>
  void addParsed(T CompileOptions::*field, const OptionRow &row) {
    auto flag = makeFlag<Parser>(field, row);
    flag->getParser().row = &row;
    own(field, std::move(flag));
  }

  template <typename Parser, typename T>
  std::shared_ptr<Flag<T, Parser>> makeFlag(T CompileOptions::*field,
                                            const OptionRow &row) {
    return std::make_shared<Flag<T, Parser>>(
        owner, row.name, llvm::cl::desc(row.help),
        llvm::cl::init(CompileOptions().*field));
  }

  template <typename T, typename OneFlag>
  void own(T CompileOptions::*field, std::shared_ptr<OneFlag> flag) {
    copies.push_back({[field, flag](CompileOptions &values) {
                        values.*field = flag->getValue();
                      },
                      [field, flag](const CompileOptions &values) {
                        *flag = values.*field;
                      }});
  }

  Owner &owner;
  /// Each owns its flag.
  std::vector<Copy> copies;
};

struct PipelineFlags : public mlir::PassPipelineOptions<PipelineFlags> {
  PipelineFlags() {
    CompileOptions::forEachOption([this](auto field, const OptionRow &row) {
      if (row.isInPipelines)
        flags.add(field, row);
    });
  }

  CompileOptions values() const { return flags.values(); }

private:
  template <typename T, typename Parser> using Flag = Option<T, Parser>;
  template <typename T, typename Parser> using FlagList = ListOption<T, Parser>;
  OptionFlags<mlir::detail::PassOptions, Flag, FlagList> flags{*this};
};

/// A pass that has rows of Options.def as options.
class TakesOptions {
public:
  virtual ~TakesOptions() = default;
  virtual void setOptions(const CompileOptions &options) = 0;
};

/// A pass with the options of these fields of CompileOptions. `Generated` is
/// TableGen's base of the pass.
template <typename Generated, auto... fields>
class WithOptions : public Generated, public TakesOptions {
public:
  using Base = WithOptions;

  WithOptions() { addFlags(); }
  /// `own`: options of the pass alone, which TableGen declares.
  template <typename OwnOptions>
  explicit WithOptions(OwnOptions own) : Generated(std::move(own)) {
    addFlags();
  }
  // MLIR copies the values.
  WithOptions(const WithOptions &other) : Generated(other) { addFlags(); }

  void setOptions(const CompileOptions &options) override {
    flags.set(options);
    known.reset();
  }

protected:
  /// The fields named above are set; the others have the table's values.
  /// They last as long as the pass.
  const CompileOptions &options() {
    if (!known)
      known = flags.values();
    return *known;
  }

private:
  template <typename T, typename Parser>
  using Flag = typename Generated::template Option<T, Parser>;
  template <typename T, typename Parser>
  using FlagList = typename Generated::template ListOption<T, Parser>;

  void addFlags() {
    CompileOptions::forEachOption([this](auto field, const OptionRow &row) {
      if ((isSame(field, fields) || ...))
        flags.add(field, row);
    });
  }
  template <typename A, typename B> static bool isSame(A a, B b) {
    if constexpr (std::is_same_v<A, B>)
      return a == b;
    return false;
  }

  OptionFlags<mlir::Pass, Flag, FlagList> flags{*this};
  /// Read when they are first asked for: a pass runs only once they are given.
  std::optional<CompileOptions> known;
};

/// Adds a pass that has its options of `options`, if it takes any.
inline void addPass(mlir::OpPassManager &pm, std::unique_ptr<mlir::Pass> pass,
                    const CompileOptions &options) {
  if (auto *taker = dynamic_cast<TakesOptions *>(pass.get()))
    taker->setOptions(options);
  pm.addPass(std::move(pass));
}

} // namespace tpsp

#endif // TPSP_PASSES_OPTIONS_OPTIONFLAGS_H
