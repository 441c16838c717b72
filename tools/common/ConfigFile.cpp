#include "ConfigFile.h"

#include "tpsp/Abi/FileHandle.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

using namespace tpsp::tool;

/// Bytes of a file of options, at most.
static constexpr int64_t longest = 16 << 20;

/// The edit distance (Levenshtein) between two words: letters to change, add or
/// remove.
static size_t distance(const std::string &one, const std::string &other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < one.size(); ++i) {
    size_t corner = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < other.size(); ++j) {
      size_t changed = corner + (one[i] == other[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

static std::vector<std::string> keysOf(const CLI::App &app) {
  std::vector<std::string> keys;
  for (const CLI::Option *option : app.get_options())
    if (option->get_configurable() && option != app.get_config_ptr() &&
        option != app.get_help_ptr())
      keys.push_back(option->get_single_name());
  return keys;
}

/// The message for a key that is no option.
static std::string problemWith(const CLI::App &app, const std::string &key) {
  std::vector<std::string> keys = keysOf(app);
  auto nearest = std::min_element(
      keys.begin(), keys.end(), [&](const auto &one, const auto &other) {
        return distance(key, one) < distance(key, other);
      });
  std::string text = fmt::format("--config '{}': no option is called '{}'",
                                 app.get_config_ptr()->as<std::string>(), key);
  // Suggest only a key that is near enough to be a misspelling.
  if (nearest != keys.end() &&
      distance(key, *nearest) <= std::min<size_t>(2, key.size() / 2))
    return fmt::format("{}; is it '{}'?", text, *nearest);
  return text + "; keys are the options of --help, such as steps = 200";
}

namespace {

class CheckedConfig final : public CLI::ConfigTOML {
public:
  explicit CheckedConfig(const CLI::App &app) : app(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream &input) const override {
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(input);
    for (const CLI::ConfigItem &item : items)
      if (!isBracket(item) && !isKey(item.fullname()))
        throw CLI::ConfigError(problemWith(app, item.fullname()));
    return items;
  }

private:
  /// Whether the item begins or ends a section.
  static bool isBracket(const CLI::ConfigItem &item) {
    return item.name == "++" || item.name == "--";
  }

  /// Looks a key up in the same way as CLI11.
  bool isKey(const std::string &name) const {
    return app.get_option_no_throw("--" + name) ||
           (name.size() == 1 && app.get_option_no_throw("-" + name)) ||
           app.get_option_no_throw(name);
  }

  const CLI::App &app;
};

} // namespace

/// Checks that the path is a readable file. CLI11 would open anything, even a
/// pipe or a device.
static std::string configProblem(const std::string &path) {
  std::string text;
  tpsp::rt::Status read = tpsp::rt::readWhole(path, longest, text);
  return read.ok() ? ""
                   : fmt::format("cannot read '{}': {}", path, read.message());
}

void tpsp::tool::declareConfigFile(CLI::App &app) {
  app.set_config("--config", "", "Take options from this file (TOML)")
      ->check(CLI::Validator(configProblem, /*validator_desc=*/""));
  app.config_formatter(std::make_shared<CheckedConfig>(app));
}
