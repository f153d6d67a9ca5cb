! SPDX-License-Identifier: Apache-2.0
! Heat on a plate: the same numbers from braze and from a plain loop.
program heat
   use braze
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   integer, parameter :: n = 16, m = 12, steps = 20
   real(real64), parameter :: c = 0.125_real64
   real(real64) :: u(n, m), next(n, m), got(n, m)
   type(braze_array_t) :: v, inner, total
   real(real64) :: warmth
   integer :: i, j, t

   u = 0
   u(1, :) = 100
   v = u
   inner = v%slice([2, 2], [n - 1, m - 1])

   do t = 1, steps
      next = u
      do j = 2, m - 1
         do i = 2, n - 1
            next(i, j) = u(i, j) + c*((u(i - 1, j) + u(i + 1, j)) &
                                      + (u(i, j - 1) + u(i, j + 1)) - 4*u(i, j))
         end do
      end do
      u = next
      call inner%put(inner + c*((v%slice([1, 2], [n - 2, m - 1]) &
                                 + v%slice([3, 2], [n, m - 1])) &
                                + (v%slice([2, 1], [n - 1, m - 2]) &
                                   + v%slice([2, 3], [n - 1, m])) - 4*inner))
   end do

   total = sum(v)
   got = v
   warmth = total
   print '(a, f12.6, a, f12.6)', 'plain ', u(3, m/2), '   sum ', sum(u)
   print '(a, f12.6, a, f12.6)', 'braze ', got(3, m/2), '   sum ', warmth
   if (any(got /= u)) error stop 'the two differ'
   call braze_finish()
end program
