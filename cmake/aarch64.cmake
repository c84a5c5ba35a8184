# Toolchain file for aarch64 on a machine of another kind: Debian's cross compiler, and programs run by an emulator. tools/test-aarch64 puts the
# libraries in THIMBLE_AARCH64_LIBRARIES, a folder that begins as the root of a system does.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES THIMBLE_AARCH64_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH ${THIMBLE_AARCH64_LIBRARIES} /usr/aarch64-linux-gnu)
# Headers that differ between kinds of machine: the compiler knows the folder of its own system only.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${THIMBLE_AARCH64_LIBRARIES}/usr/include/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# What is made of headers alone is taken from this system.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Archives: the emulator then loads nothing from that folder.
set(ZLIB_USE_STATIC_LIBS ON)
