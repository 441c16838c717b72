/// Allows a pass or a pipeline to have an option that names a machine:
///
///   Option<"hardware", "hardware", "::tpsp::HardwareChoice", "\"cpu\"", "...">
///
/// If a pipeline passes its own choice on to its passes, they share the
/// description that the first of them reads.
#ifndef TPSP_PASSES_OPTIONS_HARDWAREOPTION_H
#define TPSP_PASSES_OPTIONS_HARDWAREOPTION_H

#include "tpsp/Schedule/HardwareChoice.h"

#include "llvm/Support/CommandLine.h"

template <>
class llvm::cl::parser<tpsp::HardwareChoice>
    : public llvm::cl::basic_parser<tpsp::HardwareChoice> {
public:
  explicit parser(llvm::cl::Option &option) : basic_parser(option) {}

  bool parse(llvm::cl::Option &, llvm::StringRef, llvm::StringRef text,
             tpsp::HardwareChoice &choice) {
    choice = tpsp::HardwareChoice(text.str());
    return false;
  }
  llvm::StringRef getValueName() const override { return "machine"; }
  void printOptionDiff(const llvm::cl::Option &option,
                       const tpsp::HardwareChoice &choice, const OptVal &,
                       size_t width) const {
    printOptionName(option, width);
    llvm::outs() << "= " << choice << "\n";
  }
};

#endif // TPSP_PASSES_OPTIONS_HARDWAREOPTION_H
