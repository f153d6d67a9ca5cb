% SPDX-License-Identifier: Apache-2.0
% compare (FILE): each statement of a file, one a line, with Octave's own arrays and with braze's.
% Prints a line for each that differs: in value, class, size, or in the words of the error.
function compare (file)
  warning ("off", "all");
  lines = strsplit (strtrim (fileread (file)), "\n");
  wrong = 0;
  failed = 0;
  for k = 1:numel (lines)
    theirs = outcome (lines{k}, @(x) x);
    mine = outcome (lines{k}, @braze);
    failed += ischar (theirs.error);
    if (! alike (mine, theirs))
      wrong++;
      printf ("%s\n  octave: %s\n  braze:  %s\n", lines{k}, shown (theirs), shown (mine));
    end
  end
  left = braze_left ();
  printf ("%d statements, %d of them errors, %d differ, %d times left to Octave\n", numel (lines),
          failed, wrong, sum ([left.count]));
endfunction

function r = outcome (line, braze_or)
  a = braze_or ([1.5 -2 3 0; 4 5 -6 7.25; 0 8 9 -1]);
  b = braze_or (reshape (-5:6, 3, 4) / 2);
  p = braze_or (abs (reshape (1:12, 3, 4)) + 0.25);
  n = braze_or ([1 NaN 2 Inf; NaN NaN 1 -Inf; 0 NaN 5 3]);
  f = braze_or (single ([1.1 2.2 3.3 4.4; -1 -2 -3 -4; 0.5 0 0.25 8]));
  g = braze_or (single (reshape (12:-1:1, 3, 4)));
  k = braze_or (int32 ([7 -3 2147483647 5; 0 2 -9 11; 1 1 4 -2147483648]));
  u = braze_or (uint8 ([0 255 7 3; 1 2 200 100; 9 8 7 6]));
  z = braze_or ([true false true true; false false true false; true true true true]);
  row = braze_or ([3 1 2 -4]);
  irow = braze_or (int16 ([100 -200 300 1]));
  col = braze_or ([10; 20; 0.5]);
  fcol = braze_or (single ([1; -1; 2.5]));
  s = braze_or (2.5);
  i8 = braze_or (int8 (-7));
  t = braze_or (true);
  cube = braze_or (reshape (1:24, 2, 3, 4) - 7);
  square = braze_or ([4 1 0; 1 3 1; 0 1 2]);
  wide = braze_or ([1 2 3 4 5 6]);
  empty = braze_or (zeros (0, 3));
  narrow = braze_or ([1+2i, 3; 4, -5i]);
  r = struct ("value", {{}}, "error", 0);
  try
    eval (line);
    value = r;
    r = struct ("value", {{gather(value)}}, "error", 0);
  catch caught
    r = struct ("value", {{}}, "error", caught.message);
  end_try_catch
endfunction

function r = end_of (x)
  r = x(end);
endfunction

function yes = alike (mine, theirs)
  yes = strcmp (class (mine.error), class (theirs.error)) && isequal (mine.error, theirs.error);
  if (yes && isempty (theirs.error) == 0 && ! ischar (theirs.error))
    yes = same (mine.value{1}, theirs.value{1});
  end
endfunction

function yes = same (mine, theirs)
  yes = strcmp (class (mine), class (theirs)) && isequal (size (mine), size (theirs));
  if (! yes)
    return;
  elseif (iscell (theirs))
    for k = 1:numel (theirs)
      yes = yes && same (mine{k}, theirs{k});
    end
  elseif (isfloat (theirs))
    theirs = full (theirs)(:);
    mine = full (mine)(:);
    steps = 64 * eps (max (abs (theirs(isfinite (theirs)))(:)));
    close = abs (mine - theirs) <= [steps, 0](1);
    yes = isreal (mine) == isreal (theirs) && all (close | mine == theirs | (isnan (mine) & isnan (theirs)));
  else
    yes = isequal (mine, theirs);
  end
endfunction

function text = shown (r)
  if (ischar (r.error))
    text = ["error: " r.error];
  else
    text = strtrim (evalc ("disp (r.value{1})"));
    text = [class(r.value{1}) " " mat2str(size (r.value{1})) " " strrep(text, "\n", "; ")];
  end
  text = text(1:min (end, 300));
endfunction
