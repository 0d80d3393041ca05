# Cross-building for 64-bit ARM with Debian's compiler; tests run under QEMU user emulation.
# ATTN_CROSS_ROOT is a folder with the ARM packages that the cross compiler does not bring: cmocka.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ATTN_CROSS_ROOT)

set(CMAKE_FIND_ROOT_PATH ${ATTN_CROSS_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
