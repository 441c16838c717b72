/// A machine by its name, as options give it, and its description, which is
/// read on first use. The passes of a compilation, its simulation and its
/// report have copies of one choice, so that the description is read once. The
/// header needs no LLVM; read() does.
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

  /// The description, which this choice and its copies own together. It lasts
  /// as long as one of them. The first successful call reads it with
  /// findHardware(), whose errors are returned. Not thread-safe.
  llvm::Expected<const Hardware &> read() const;

private:
  std::string text;
  /// Shared by copies; holds null until the description is read.
  std::shared_ptr<std::shared_ptr<const Hardware>> description =
      std::make_shared<std::shared_ptr<const Hardware>>();
};

/// Prints the name.
llvm::raw_ostream &operator<<(llvm::raw_ostream &out,
                              const HardwareChoice &choice);

} // namespace tpsp

#endif // TPSP_SCHEDULE_HARDWARECHOICE_H
