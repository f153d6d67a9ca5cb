% SPDX-License-Identifier: Apache-2.0
% programs (SCALE): array programs of the DelayRepay paper, as Octave's users write them, with
% Octave's own arrays and with braze's.  Prints a row for each: the best seconds of five turns, and
% fails where values differ.  SCALE 1: arrays of some 100 KB; 100: of some 10 MB.
function programs (scale)
  n = round (120 * sqrt (scale));
  m = round (15000 * scale);
  rand ("twister", 7);
  angles = rand (m, 4);
  grid = 0.5 + rand (n, n) / 10;
  image = rand (n, n);
  points = rand (round (90 * sqrt (scale)), 3);
  scores = rand (40, round (m / 40));
  vector = rand (m, 1);
  calls = {"arc_distance", @arc_distance, {angles(:,1), angles(:,2), angles(:,3), angles(:,4)};
           "grayscott", @grayscott, {grid, grid / 2, 5};
           "harris", @harris, {image};
           "rosen", @rosen, {vector};
           "pairwise", @pairwise, {points};
           "cronbach", @cronbach, {scores};
           "log_likelihood", @log_likelihood, {vector, 0.5, 0.3}};
  printf ("| program | Octave, ms | braze, ms | quicker by |\n|---|---|---|---|\n");
  for k = 1:rows (calls)
    [theirs, before] = timed (calls{k,2}, calls{k,3});
    given = cellfun (@boxed, calls{k,3}, "UniformOutput", false);
    [mine, after] = timed (calls{k,2}, given);
    assert (mine, theirs, -1e-11);
    printf ("| %s | %.2f | %.2f | %.2f |\n", calls{k,1}, 1e3 * before, 1e3 * after, before / after);
  end
endfunction

function y = boxed (x)
  y = x;
  if (numel (x) > 1)
    y = braze (x);
  end
endfunction

function [value, best] = timed (f, arguments)
  best = Inf;
  for turn = 1:6
    start = tic;
    value = gather (f (arguments{:}));
    if (turn > 1)
      best = min (best, toc (start));
    end
  end
endfunction

% Distances on the unit sphere, point by point.
function d = arc_distance (t0, p0, t1, p1)
  h = sin ((t1 - t0) / 2) .^ 2 + cos (t0) .* cos (t1) .* sin ((p1 - p0) / 2) .^ 2;
  d = 2 * atan2 (sqrt (abs (h)), sqrt (abs (1 - h)));
endfunction

function l = neighbours (z)
  l = z(1:end-2,2:end-1) + z(2:end-1,1:end-2) - 4 * z(2:end-1,2:end-1) ...
      + z(2:end-1,3:end) + z(3:end,2:end-1);
endfunction

% Reaction and diffusion of two substances.
function s = grayscott (u, v, steps)
  for k = 1:steps
    lu = neighbours (u);
    lv = neighbours (v);
    iu = u(2:end-1,2:end-1);
    iv = v(2:end-1,2:end-1);
    w = iu .* iv .* iv;
    u(2:end-1,2:end-1) = iu + (0.16 * lu - w + 0.04 * (1 - iu));
    v(2:end-1,2:end-1) = iv + (0.08 * lv + w - 0.1 * iv);
  end
  s = [u; v];
endfunction

% Response of the corner detector with single differences.
function r = harris (image)
  dx = image(2:end,2:end) - image(1:end-1,2:end);
  dy = image(2:end,2:end) - image(2:end,1:end-1);
  a = dx .* dx;
  b = dy .* dy;
  c = dx .* dy;
  r = a .* b - c .* c - 0.05 * (a + b) .^ 2;
endfunction

function s = rosen (x)
  s = sum (100 * (x(2:end) - x(1:end-1) .^ 2) .^ 2 + (1 - x(1:end-1)) .^ 2);
endfunction

% Distances between all pairs of rows.
function d = pairwise (x)
  p = reshape (x, rows (x), 1, columns (x));
  q = reshape (x, 1, rows (x), columns (x));
  d = sqrt (sum ((p - q) .^ 2, 3));
endfunction

% Cronbach's alpha of a test whose items stand in rows.
function alpha = cronbach (scores)
  n = rows (scores);
  items = sum (var (scores, 0, 2));
  total = var (sum (scores, 1));
  alpha = n / (n - 1) * (1 - items / total);
endfunction

function s = log_likelihood (x, mean, sigma)
  density = exp (-((x - mean) .^ 2 / (2 * sigma ^ 2))) / (sqrt (2 * pi) * sigma);
  s = sum (log (density));
endfunction
