// The inverse Gaussian of mean 1 and shape lambda (CV 1/sqrt(lambda)):
//   F(x) = Phi(a) + exp(2 lambda) Phi(-b),  a = sqrt(lambda/x) (x - 1), b = sqrt(lambda/x) (x + 1)
// (Chhikara, Folks, The Inverse Gaussian Distribution, Dekker 1989), with the second term as
// exp(-a^2/2) erfcx(b / sqrt 2) / 2, since exp(2 lambda) overflows at CVs below 5 %, as Boost.Math 1.74 does.
// Checked by tests/cluster/compute_noise.cpp.
#pragma once

namespace simsgd::stragglers {

double inverse_gaussian_cdf(double lambda, double x);
/// 1 - F, with all digits.
double inverse_gaussian_survival(double lambda, double x);
/// x at F = `probability`, or where `upper` at 1 - F; from 0 to 1, both exclusive.
double inverse_gaussian_quantile(double lambda, double probability, bool upper = false);

}  // namespace simsgd::stragglers
