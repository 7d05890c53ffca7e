import { crashWindows } from './crash-windows.js';

crashWindows('sqlite');
