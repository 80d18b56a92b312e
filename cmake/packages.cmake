# What `cpack` makes of an install: a Debian package, and an archive that runs where it is unpacked, since the program
# looks for scenarios beside itself (../share/simsgd) and opens its libraries there too (../lib/simsgd).
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
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/shlibdeps.cmake)
set(CPACK_SIMSGD_BINARIES ${PROJECT_BINARY_DIR})
# Two packages: the program, and headers for training methods of one's own (cmake/plugins.cmake).
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME simsgd)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "dataset-fashion-mnist, libpython3.11, python3-numpy, python3-pandas")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME simsgd-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "simsgd (= ${PROJECT_VERSION}), cmake, g++, nlohmann-json3-dev, libfmt-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers of SimSGD, for training methods of one's own in C++.")

# The Python package, with its notebooks; and what pages are drawn with, where ./setup.sh web has got it.
install(DIRECTORY python/simsgd DESTINATION lib/python3/dist-packages FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
install(DIRECTORY examples/ DESTINATION share/doc/simsgd/examples
  FILES_MATCHING PATTERN "*.py" PATTERN "*.ipynb" PATTERN "plugin" EXCLUDE)
foreach(library vega vega-lite vega-embed)
  set(place node_modules/${library})
  install(FILES ${PROJECT_SOURCE_DIR}/build/web/${place}/build/${library}.min.js DESTINATION share/simsgd/web/${place}/build OPTIONAL)
  install(FILES ${PROJECT_SOURCE_DIR}/build/web/${place}/LICENSE DESTINATION share/simsgd/web/${place} OPTIONAL)
endforeach()
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
