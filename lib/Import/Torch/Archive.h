/// The files in a zip archive, whose sizes are checked.
#ifndef TPSP_IMPORT_TORCH_ARCHIVE_H
#define TPSP_IMPORT_TORCH_ARCHIVE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct zip;

namespace tpsp::import::torch {

class Archive {
public:
  /// Throws a Refusal if the file is no zip archive.
  explicit Archive(const std::string &path);

  /// The names of the files, without the folder that contains all of them.
  const std::vector<std::string> &names() const { return files; }
  bool has(const std::string &name) const;
  /// The content of a file. Throws a Refusal if the file is missing, larger
  /// than `mostBytes`, or damaged.
  std::string read(const std::string &name, int64_t mostBytes) const;

private:
  struct Close {
    void operator()(zip *archive) const;
  };
  std::unique_ptr<zip, Close> archive;
  std::string folder;
  std::vector<std::string> files;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_ARCHIVE_H
