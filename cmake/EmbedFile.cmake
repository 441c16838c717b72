# Writes the bytes of INPUT as the C array NAME, with a 0 after them, to OUTPUT:
#   cmake -DINPUT=.. -DNAME=.. -DOUTPUT=.. -P EmbedFile.cmake
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "// Made from ${INPUT}.
extern const unsigned char ${NAME}[];
alignas(16) const unsigned char ${NAME}[] = {
${bytes}0};
")
