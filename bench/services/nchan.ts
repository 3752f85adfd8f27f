/** Where Debian's package `libnginx-mod-nchan` puts its module. */
export const nchanModule = '/usr/lib/nginx/modules/ngx_nchan_module.so';
