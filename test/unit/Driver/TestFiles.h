/// Files for one test.
#ifndef TPSP_TEST_UNIT_DRIVER_TESTFILES_H
#define TPSP_TEST_UNIT_DRIVER_TESTFILES_H

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace tpsp::rt {

/// A folder that is removed after the test.
class TestFiles : public testing::Test {
protected:
  TestFiles()
      : folder(testing::TempDir() + "tpsp-driver-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder);
  }
  ~TestFiles() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int filesInFolder() const {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }

  const std::string folder;
};

} // namespace tpsp::rt

#endif // TPSP_TEST_UNIT_DRIVER_TESTFILES_H
