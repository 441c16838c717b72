/// A machine by its name, as options give it, and its description once someone
/// has asked for it. The passes of a compilation, its simulation and its report
/// have copies of one choice, so that the description is read once. Needs no
/// LLVM; read() does.
#ifndef TPSP_SCHEDULE_HARDWARECHOICE_H
#define TPSP_SCHEDULE_HARDWARECHOICE_H

#include <memory>
#include <string>

namespace llvm {
template <class T> class Expected;
class raw_ostream;
} // namespace llvm

namespace tpsp {

struct Hardware;

class HardwareChoice {
public:
  /// A built-in description's name, or a file's. Nothing is read yet.
  HardwareChoice(std::string name = "cpu") : text(std::move(name)) {}
  HardwareChoice(const char *name) : text(name) {}

  const std::string &name() const { return text; }

  /// The description, which this choice and its copies own together: it lasts
  /// as long as one of them. The first call that succeeds reads it
  /// (findHardware(), whose errors these are). Not for two threads at once.
  llvm::Expected<const Hardware &> read() const;

private:
  std::string text;
  /// Shared by copies; holds null until it is read.
  std::shared_ptr<std::shared_ptr<const Hardware>> description =
      std::make_shared<std::shared_ptr<const Hardware>>();
};

/// The name.
llvm::raw_ostream &operator<<(llvm::raw_ostream &out,
                              const HardwareChoice &choice);

} // namespace tpsp

#endif // TPSP_SCHEDULE_HARDWARECHOICE_H
