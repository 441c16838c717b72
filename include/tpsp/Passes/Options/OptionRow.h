/// A row of a table of options: an option's name, its values, and the tools
/// that have it. The table (Options.def) generates the struct that programs
/// read, the options of tpsp-opt's pipelines, tpsp-run's flags, and the help of
/// both. Needs neither LLVM nor MLIR.
#ifndef TPSP_PASSES_OPTIONS_OPTIONROW_H
#define TPSP_PASSES_OPTIONS_OPTIONROW_H

#include "tpsp/Abi/Optimizers.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tpsp {

/// The numbers or texts that an option accepts, among those of its type.
enum class OptionDomain {
  Any,
  Positive,
  NotNegative, ///< from 0 to 1e9
  Seed,        ///< a whole number of 64 bits
  Share,       ///< a number from 0 to 1
  AxisSizes,   ///< "tp=4,dp=2"
  Extents,     ///< "s=8192,b=4"
  Multiples,   ///< "v=8,h=8"
  List,        ///< "dp,fsdp"
  Files        ///< as many as follow
};

/// "expected a number above 0, not '-1'" if `number`, written as `text`, is
/// outside the domain; else empty. Text that is not a number is passed as NaN.
/// The largest accepted number is 1e9: seconds are counted in nanoseconds, and
/// 64 bits hold about 9e9 seconds.
inline std::string problemOf(OptionDomain domain, double number,
                             const std::string &text) {
  bool isPositive = domain == OptionDomain::Positive,
       isShare = domain == OptionDomain::Share;
  if (!isPositive && !isShare && domain != OptionDomain::NotNegative)
    return "";
  if ((isPositive ? number > 0 : number >= 0) && number <= (isShare ? 1 : 1e9))
    return "";
  const char *expected = isShare        ? "from 0 to 1"
                         : !isPositive  ? "from 0 to 1e9"
                         : number > 1e9 ? "of at most 1e9"
                                        : "above 0";
  return std::string("expected a number ") + expected + ", not '" + text + "'";
}

/// The part of an option that all processes of a run must give alike.
enum class Agreement {
  Value,
  Presence, ///< the name of a file: whether there is one
  Nothing   ///< each process may have its own
};

/// Created by compiling() or anytime(), then refined:
///
///   compiling("rematerialize", "What ...").oneOf({"none", "selective"})
struct OptionRow {
  /// The option's name, as in --name and in name=value.
  const char *name, *help;
  /// Whether the option is fixed once a plan is compiled.
  bool isOfCompilation;
  /// The only values; empty if there are others.
  std::vector<std::string> words = {};
  /// If not null: the value of the flag without a word after it ("--verify" for
  /// "--verify=results").
  const char *bare = nullptr;
  /// Whether tpsp-run takes a bool as "on" or "off", not as a flag without a
  /// value.
  bool isOnOff = false;
  /// If not null, tpsp-run also takes "auto", its default, and this text says
  /// what that chooses.
  const char *automatic = nullptr;
  OptionDomain domain = OptionDomain::Any;
  Agreement agreement = Agreement::Value;
  /// tpsp-run's short name for the option, such as "-o"; null if there is none.
  const char *shortFlag = nullptr;
  bool isInPipelines = true, isInRun = true;

  // Each returns the row with one change.

  OptionRow oneOf(const std::vector<std::string> &theWords) const {
    return with(&OptionRow::words, theWords);
  }
  OptionRow orBare(const char *word) const {
    return with(&OptionRow::bare, word);
  }
  OptionRow onOff() const { return with(&OptionRow::isOnOff, true); }
  OptionRow automaticInRun(const char *choice) const {
    return with(&OptionRow::automatic, choice);
  }
  OptionRow in(OptionDomain theDomain) const {
    return with(&OptionRow::domain, theDomain);
  }
  OptionRow orShort(const char *flag) const {
    return with(&OptionRow::shortFlag, flag);
  }
  OptionRow agreedIn(Agreement what) const {
    return with(&OptionRow::agreement, what);
  }
  OptionRow onlyInPipelines() const { return with(&OptionRow::isInRun, false); }
  OptionRow onlyInRun() const { return with(&OptionRow::isInPipelines, false); }

  /// "no device is called 'tpu': cuda or none", if the row lists words and
  /// `value` is not among them; else empty.
  std::string problemOf(const std::string &value) const {
    if (words.empty() ||
        std::find(words.begin(), words.end(), value) != words.end())
      return "";
    std::string known = words[0];
    for (size_t i = 1; i < words.size(); ++i)
      known += (i + 1 < words.size() ? ", " : " or ") + words[i];
    return std::string("no ") + name + " is called '" + value + "': " + known;
  }

private:
  template <typename T>
  OptionRow with(T OptionRow::*field, const T &value) const {
    OptionRow row = *this;
    row.*field = value;
    return row;
  }
};

/// An option of compiling, which is fixed in a compiled plan.
inline OptionRow compiling(const char *name, const char *help) {
  return {name, help, /*isOfCompilation=*/true};
}

/// An option that a compiled plan takes, too.
inline OptionRow anytime(const char *name, const char *help) {
  return {name, help, /*isOfCompilation=*/false};
}

/// The words of --optimizer.
inline std::vector<std::string> optimizerWords() {
  std::vector<std::string> words = optimizerNames();
  words.insert(words.begin(), "none");
  return words;
}

} // namespace tpsp

#endif // TPSP_PASSES_OPTIONS_OPTIONROW_H
