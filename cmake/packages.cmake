# What `cpack` makes of an install: a Debian package, and an archive that runs where it is unpacked, since the program
# looks for scenarios beside itself (../share/simsgd) and links no library of ours.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME simsgd)
set(CPACK_PACKAGE_VENDOR SimSGD)
set(CPACK_PACKAGE_CONTACT "SimSGD developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predicts time and convergence of distributed SGD on a GPU cluster")
set(CPACK_PACKAGE_DESCRIPTION "A discrete-event simulation of distributed training in which every worker trains for real.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 1)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Which packages the libraries of the programs are in; needs dpkg-shlibdeps (dpkg-dev) and file.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS dataset-fashion-mnist)
include(CPack)
