/// Files of NumPy's format for tests.
#ifndef TPSP_TEST_UNIT_DRIVER_TESTNPY_H
#define TPSP_TEST_UNIT_DRIVER_TESTNPY_H

#include <string>
#include <vector>

namespace tpsp::rt {

/// Returns the elements as bytes of a file.
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

/// Returns a file with this header, as NumPy writes it.
inline std::string npyWithHeader(std::string header, const std::string &data,
                                 char major = 1) {
  size_t width = major == 1 ? 2 : 4;
  header.resize((header.size() + 8 + width + 64) / 64 * 64 - 8 - width, ' ');
  header.back() = '\n';
  uint32_t length = header.size();
  return std::string("\x93NUMPY") + major + '\0' +
         std::string(reinterpret_cast<const char *>(&length), width) + header +
         data;
}

inline std::string npy(const std::string &descr, const std::string &shape,
                       const std::string &data, char major = 1) {
  return npyWithHeader("{'descr': '" + descr +
                           "', 'fortran_order': False, 'shape': " + shape +
                           ", }",
                       data, major);
}

} // namespace tpsp::rt

#endif // TPSP_TEST_UNIT_DRIVER_TESTNPY_H
