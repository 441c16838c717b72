#include "Archive.h"
#include "Refusal.h"

#include <zip.h>

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

/// An archive of a model has a file for each parameter.
static constexpr zip_int64_t mostFiles = 1 << 20;

/// Bytes that one byte of deflated data stands for, at most (RFC 1951: 258
/// bytes in two bits).
static constexpr zip_uint64_t mostCompression = 1032;

void Archive::Close::operator()(zip *opened) const { zip_discard(opened); }

/// The folder in which all files lie, with its '/'. torch.export.save names it
/// after the archive.
static std::string commonFolder(const std::vector<std::string> &files) {
  if (files.empty())
    return "";
  std::string folder = files.front().substr(0, files.front().find('/') + 1);
  bool isCommon =
      std::all_of(files.begin(), files.end(), [&](const std::string &name) {
        return name.rfind(folder, 0) == 0;
      });
  return isCommon ? folder : "";
}

Archive::Archive(const std::string &path) {
  int code = 0;
  archive.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    refuse("it is no archive of torch.export.save: {}", reason);
  }
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count > mostFiles)
    refuse("it has {} files, and at most {} are read", count, mostFiles);
  for (zip_int64_t i = 0; i < count; ++i)
    if (const char *name = zip_get_name(archive.get(), i, 0))
      files.emplace_back(name);
  folder = commonFolder(files);
  for (std::string &name : files)
    name.erase(0, folder.size());
  std::sort(files.begin(), files.end());
}

bool Archive::has(const std::string &name) const {
  return std::binary_search(files.begin(), files.end(), name);
}

std::string Archive::read(const std::string &name, int64_t mostBytes) const {
  zip_stat_t about;
  if (zip_stat(archive.get(), (folder + name).c_str(), 0, &about) != 0 ||
      !(about.valid & ZIP_STAT_SIZE))
    refuse("its file '{}' is missing; write it again by torch.export.save",
           name);
  if (about.size > static_cast<zip_uint64_t>(mostBytes))
    refuse("its file '{}' has {} bytes, and at most {} are expected", name,
           about.size, mostBytes);
  // Memory is not taken on the word of a header.
  if (!(about.valid & ZIP_STAT_COMP_SIZE) ||
      about.size / mostCompression > about.comp_size)
    refuse("its file '{}' is damaged: {} bytes are no {}", name,
           about.comp_size, about.size);
  std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> file(
      zip_fopen_index(archive.get(), about.index, 0), zip_fclose);
  std::string bytes(about.size, '\0');
  if (!file || zip_fread(file.get(), bytes.data(), bytes.size()) !=
                   static_cast<zip_int64_t>(bytes.size()))
    refuse("its file '{}' is damaged: {}", name,
           file ? zip_file_strerror(file.get()) : zip_strerror(archive.get()));
  // The checksum is verified at the end of the file.
  char beyond = 0;
  if (zip_fread(file.get(), &beyond, 1) != 0)
    refuse("its file '{}' is damaged: {}", name, zip_file_strerror(file.get()));
  return bytes;
}
