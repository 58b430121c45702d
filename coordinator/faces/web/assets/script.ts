import { copyOnClick } from './script/copy.ts';
import { listenToKeys } from './script/keys.ts';
import { keepLive } from './script/live.ts';
import { openPalette } from './script/palette.ts';
import { checkAll, offerOwnZone, tellOwnTime } from './script/small.ts';
import { stayOnForms } from './script/stay.ts';

// Comfort only: every page does all that it does without any of this.
keepLive();
openPalette();
listenToKeys();
copyOnClick();
offerOwnZone();
tellOwnTime();
checkAll();
stayOnForms();
